import assert from "node:assert/strict";
import { connect } from "../../cli/connection.js";
import { awaitEarlier, awaitUsers, createAliasOrder, userReaderOf } from "../../cli/import/aliases.js";
import { EXIT, type CliError } from "../../cli/fail.js";
import type { Call, Http } from "../../client/http.js";
import type { Identifier } from "../../core/event/event.js";
import { compilePlan } from "../../core/schema/plan.js";
import { BUILT_IN_NAMESPACES, namespaceTable } from "../../core/identity/namespaces.js";
import { onym, useFolder } from "../support/cli.js";
import { eventually } from "../support/eventually.js";
import { withHeldApp } from "../support/faults.js";
import { identifiersOf, profileOf } from "../support/sdk/client.js";
import { EMBEDDED } from "../support/servers/servers.js";
import { startFaultyProxy } from "../support/service/faulty-proxy.js";

const lines = (objects: readonly object[]): string => objects.map((one) => `${JSON.stringify(one)}\n`).join("");

describe("An alias of an import", () => {
  const folder = useFolder();

  const identify = (n: number) => ({ type: "identify", messageId: `m-${n}`, userId: `u-${n}`, traits: {} });
  const merge = { type: "alias", messageId: "m-merge", userId: "u-new", previousId: "u-7" };
  const cases = [
    {
      name: "the first one, once what was accepted before is processed",
      calls: [...Array.from({ length: 1_000 }, (_, n) => identify(n)), merge],
      path: "/v1/stats",
      err: "onym: waits until the queue is empty; events that wait: 1000\n",
    },
    {
      name: "a later one, once that user is known",
      calls: [
        { ...merge, messageId: "m-first", previousId: "a-1" },
        ...Array.from({ length: 999 }, (_, n) => identify(n)),
        merge,
      ],
      path: "/v1/profiles/lookup?wait=",
      err: "",
    },
  ];
  for (const { name, calls, path, err } of cases)
    it(`of a user whom an earlier batch names is sent: ${name}`, async () => {
      await withHeldApp(EMBEDDED, async (app, release) => {
        const workspace = await app.workspace();
        const file = folder.file("aliases.jsonl", lines(calls));
        const proxy = await startFaultyProxy(app.url, () => "pass");
        const asked = (start: string) => proxy.seen.filter(({ target }) => target.startsWith(start)).length;
        try {
          const key = await workspace.key("admin");
          const importing = onym(["import", "segment", file, "--yes"], { url: proxy.url, key });
          await eventually("it looks again", () => asked(path) > 1);
          assert.equal(asked("/v1/import"), 1);
          release();
          const ran = await importing;
          assert.deepEqual([ran.exit, ran.err], [0, err]);
          assert.equal(asked("/v1/import"), 2);
          const profile = await profileOf(workspace, ["user_id", "u-7"], 2);
          assert.ok(identifiersOf(profile).includes("user_id:u-new"));
        } finally {
          await proxy.close();
        }
      });
    });

  it("knows whom the schemas of the plan name", async () => {
    await withHeldApp(EMBEDDED, async (app, release) => {
      release();
      const workspace = await app.workspace();
      const events = {
        Seen: { schema_id: await workspace.schema(SEEN) },
        Other: { schema_id: await workspace.schema() },
      };
      const put = await workspace.send("PUT", "/v1/sdk/plan", { events: { ...events, Later: {} } });
      assert.equal(put.status, 200, put.text);
      const key = await workspace.key("admin");
      const api = connect({ url: app.url, key, keyPlace: "a test", isLoopback: true }, 0);
      const { table, plans } = await userReaderOf(api);
      assert.deepEqual([[...plans.keys()], table.has("user_id")], [["Seen", "Other"], true]);
    });
  });

  const user = (userId: string, more: object = {}) => ({ type: "identify", userId, ...more });
  const alias = (previousId: unknown, userId = "u-new") => ({ type: "alias", userId, previousId });
  const waitsOf = async (batches: readonly (readonly object[])[], usersMax?: number) => {
    const waits: (readonly [sent: number, users: readonly string[] | null])[] = [];
    const table = namespaceTable([{ ...BUILT_IN_NAMESPACES[0]!, normalization: "email" }]);
    const plans = new Map([["Seen", compilePlan(SEEN)]]);
    let sent = 0;
    const inOrder = createAliasOrder(
      {
        queue: async () => void waits.push([sent, null]),
        users: async (users) => {
          waits.push([sent, users]);
          return users.includes("refused@x.de") ? "processed" : "known";
        },
        reader: async () => ({ table, plans }),
      },
      usersMax,
    );
    for (const calls of batches) {
      const items = calls.map((call) => ({ text: JSON.stringify(call) }) as never);
      const parts: object[] = [];
      for await (const part of inOrder(items)) {
        parts.push(...part);
        sent += 1;
      }
      assert.deepEqual(parts, items);
    }
    return waits;
  };
  const [a, b, c, d] = ["a@x.de", "b@x.de", "c@x.de", "d@x.de"] as const;
  const first = [alias("v-1")];
  const SEEN = {
    type: "object",
    properties: {
      properties: { type: "object", properties: { by: { type: "string", "x-identity": { namespace: "user_id" } } } },
    },
  };

  it("waits once for what came before the import, and then for users who were named since", async () => {
    assert.deepEqual(await waitsOf([[user(a), { type: "track", previousId: a }], [user(b)]]), []);
    assert.deepEqual(await waitsOf([first, [alias("v-2")], [alias("v-3")]]), [[0, null]], "many in a row");
    const later = async (...batches: readonly (readonly object[])[]) => (await waitsOf([first, ...batches])).slice(1);
    assert.deepEqual(await later([user(a), user(b)], [alias(" A@x.de"), alias(a)], [alias(a)], [alias(b)]), [
      [2, [a]],
      [4, [b]],
    ]);
    assert.deepEqual(await later([user(a), alias(a)]), [], "in one batch");
    assert.deepEqual(await later([alias(b, c)], [alias(c, d)]), [[2, [c]]], "a chain");
    const context = { externalId: [{ type: "user_id", id: d }] };
    assert.deepEqual(await later([user(a, { context })], [alias(d)]), [[2, [d]]]);
    const seen = (event: string) => ({ type: "track", event, anonymousId: "v-1", properties: { by: a } });
    assert.deepEqual(await later([seen("Seen"), seen("Other")], [alias(a)]), [[2, [a]]], "by the plan's schema");
    assert.deepEqual(await later([seen("Other")], [alias(a)]), []);
    assert.deepEqual(await later([seen("Seen"), alias(b), alias(a), alias(a)]), [[2, [a]]], "in one batch, parted");
    assert.deepEqual(await later([user("guest"), user("\ud800@x.de")], [alias("guest"), alias("\ud800@x.de")]), []);
    const refused = [user("refused@x.de"), user(a)];
    assert.deepEqual(await later(refused, [alias("refused@x.de")], [alias(a)]), [[2, ["refused@x.de"]]]);
  });

  it("waits also where there are too many users to remember", async () => {
    const many = [user(a), user(b), user(c)];
    assert.deepEqual(await waitsOf([first, many, [alias("v-2")], [alias("v-3")]], 2), [
      [0, null],
      [2, null],
    ]);
  });

  /** A service in whose queue some events always wait. */
  const busy = (known: ReadonlySet<string>, waiting: number | null = 5, oldest_at: string | null = null) => {
    const asked: number[] = [];
    const http = async ({ path, body }: Call) => {
      if (path === "/v1/stats") return { minutes: [{ at: "2026-01-31T12:00:00.000Z" }], queue: { waiting, oldest_at } };
      const { identifiers } = body as { readonly identifiers: readonly Identifier[] };
      asked.push(identifiers.length);
      return { unknown: identifiers.filter(({ value }) => !known.has(value)) };
    };
    return { http: http as unknown as Http, asked };
  };

  it("waits for its user alone, whatever else is in the queue", async () => {
    const known = new Set<string>();
    const { http, asked } = busy(known);
    for (const one of ["u-1", "u-2"]) {
      let outcome = "";
      const waiting = awaitUsers(http, [one], 60_000).then((is) => (outcome = is));
      await eventually("it asks again", () => asked.length > 1);
      assert.equal(outcome, "");
      known.add(one);
      assert.equal(await waiting, "known");
      asked.length = 0;
    }
    const many = Array.from({ length: 250 }, (_, n) => `m-${n}`);
    for (const one of many) known.add(one);
    assert.equal(await awaitUsers(http, many, 0), "known");
    assert.deepEqual(asked, [100, 100, 50]);
  });

  it("is not sent if its user never gets known, unless nothing is left that could make them known", async () => {
    for (const waiting of [5, null])
      await assert.rejects(awaitUsers(busy(new Set(), waiting).http, ["u-1"], 0), /sent before, still wait/);
    assert.equal(await awaitUsers(busy(new Set(), 0).http, ["u-1"], 0), "processed");
    const younger = busy(new Set(), 5, "2026-01-31T12:01:00.000Z");
    assert.equal(await awaitUsers(younger.http, ["u-1"], 0), "processed");
  });

  it("is not sent as long as something that came before the import waits, even where nobody knows since when", async () => {
    for (const [waiting, reason] of [
      [5, /^events still wait to be processed, 5: an alias/],
      [null, /^nobody knows whether events wait/],
    ] as const) {
      const { http } = busy(new Set(), waiting);
      const inOrder = createAliasOrder({
        queue: () => awaitEarlier(http, 0, () => {}),
        users: () => assert.fail("it was sent"),
        reader: () => assert.fail("it was sent"),
      });
      const sent = inOrder([{ text: JSON.stringify(alias("v-1")) } as never]).next();
      await assert.rejects(sent, (error: CliError) => error.exit === EXIT.unavailable && reason.test(error.message));
    }
  });

  it("waits for a worker that is away for minutes", async () => {
    const now = Date.now;
    let looked = 0;
    Date.now = () => now() + looked * 400_000;
    try {
      const http = async () => {
        looked += 1;
        const queue = { waiting: looked < 3 ? 5 : 0, oldest_at: null };
        return { minutes: [{ at: "2026-01-31T12:00:00.000Z" }], queue };
      };
      await awaitEarlier(http as unknown as Http, 900_000, () => {});
    } finally {
      Date.now = now;
    }
    assert.equal(looked, 3);
  });
});
