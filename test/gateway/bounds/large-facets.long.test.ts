import assert from "node:assert/strict";
import { once } from "node:events";
import http from "node:http";
import type { Identifier } from "../../../core/event/event.js";
import type { WorkspaceId } from "../../../core/ids.js";
import type { Facet } from "../../../core/profile/facet.js";
import { listAt, useApp, type TestWorkspace } from "../../support/service/app.js";
import { held } from "../../support/service/held.js";

const MIB = 1_048_576;
const PEOPLE = 60;
/** Of a facet. */
const BYTES = MIB;
/** For what is read, parsed and added up of a few of them. */
const MORE_MAX = 24 * MIB;
/** And lines that are made of them, and sent. */
const EXPORTED_MAX = 56 * MIB;

const facetOf = (n: number): Facet => ({
  traits: new Map([
    ["city", { merge: "min", value: n === 0 ? "Paris" : "Rome" }],
    ["filler", { merge: "min", value: `${n} ${"x".repeat(BYTES)}` }],
  ]),
  firstSeen: "2026-01-01T00:00:00.000000000Z",
  lastSeen: "2026-01-01T00:00:00.000000000Z",
  eventCount: 1,
});

describe("Profiles whose facets hold a megabyte each", () => {
  let most = 0;
  let heldBefore = 0;
  let reads = 0;
  const app = useApp(
    {},
    {
      wrap: (backends) => {
        const { profiles } = backends;
        const look = <T>(found: T): T => {
          reads += 1;
          // Not at each: a collection of all that is not needed takes long.
          if (reads % 5 === 1) most = Math.max(most, held() - heldBefore);
          return found;
        };
        return {
          ...backends,
          profiles: {
            ...profiles,
            find: async (...asked) => look(await profiles.find(...asked)),
            findSome: async (...asked) => look(await profiles.findSome(...asked)),
          },
        };
      },
    },
  );
  let workspace: TestWorkspace;
  let person: Identifier;

  before(async () => {
    workspace = await app().workspace();
    const id = workspace.id as WorkspaceId;
    await workspace.schema({
      type: "object",
      properties: { city: { type: "string", "x-trait": { name: "city", merge: "min" } } },
    });
    const { identity, backends } = app().service;
    for (let n = 0; n < PEOPLE; n += 1) {
      person = { namespace: "email", value: `p${n}@example.com` };
      await workspace.send("POST", "/v1/identify", { identifiers: [person] });
      const [found] = await identity.lookup(id, [person]);
      await backends.profiles.save(id, [{ uid: found!.uid, facet: facetOf(n), pending: [], expectedRev: 0 }]);
    }
  });

  /** However they are read: what is held at most meanwhile. */
  const holdsLittle = async (work: () => Promise<unknown>, bytesMax = MORE_MAX): Promise<void> => {
    [most, reads, heldBefore] = [0, 0, held()];
    await work();
    assert.ok(reads > 0 && most < bytesMax, `${Math.round(most / MIB)} MiB in ${reads} reads`);
  };

  const rule = { "traits.city": "Paris" };
  it("are searched, ranked and counted while a few of them are held", async () => {
    for (const [path, body] of [
      ["/v1/profiles/search", { rule, limit: 1 }],
      ["/v1/profiles/count", { rule }],
      ["/v1/profiles/top", { trait: "city", limit: 1 }],
      ["/v1/audiences/preview", { rule }],
    ] as const)
      await holdsLittle(async () => {
        const { status, text } = await workspace.send("POST", path, body);
        assert.equal(status, 200, `${path} ${text.slice(0, 200)}`);
      });
  });

  it("are judged by audiences while a few of them are held", () =>
    holdsLittle(async () => {
      const { status, body } = await workspace.send("POST", "/v1/audiences", { name: "Parisians", rule });
      assert.equal(status, 201);
      await app().service.keeper!.rest();
      const members = await workspace.send("GET", `/v1/audiences/${body["audience_id"] as string}/members`);
      assert.equal(listAt(members.body, "members").length, 1);
    }));

  it("are exported while a few of them are held", () =>
    holdsLittle(async () => {
      const headers = { Authorization: `Bearer ${await workspace.key("admin")}`, "Accept-Encoding": "identity" };
      const request = http.get(`${app().url}/v1/exports/profiles`, { headers });
      const [response] = (await once(request, "response")) as [http.IncomingMessage];
      let [bytes, end] = [0, ""];
      for await (const chunk of response as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        end = (end + chunk.toString("latin1")).slice(-100);
      }
      assert.ok(bytes > PEOPLE * BYTES && end.includes(`"complete":true,"lines":${PEOPLE}`), `${bytes} bytes, ${end}`);
    }, EXPORTED_MAX));
});
