import assert from "node:assert/strict";
import { compileAudiences } from "../../commands/audiences/judged.js";
import { judgeAll, type LookServices } from "../../commands/audiences/look.js";
import { newBuild } from "../../core/audience/audience.js";
import { buildPage } from "../../keeper/audiences/build.js";
import type { AudienceDeps } from "../../keeper/audiences/deps.js";
import type { AudienceSet } from "../../core/audience/audience.js";
import { createWalks, tendTallies } from "../../keeper/tallies.js";
import { silentLog } from "../../app/logger.js";
import { instantOf } from "../../core/event/time.js";
import type { EventRecord } from "../../core/event/event.js";
import type { EventId, ProfileId, SchemaId, WorkspaceId } from "../../core/ids.js";
import { aFold, anEvent } from "../support/builders.js";
import { textAt, useApp, type TestWorkspace } from "../support/service/app.js";

const SHOP = {
  type: "object",
  properties: {
    email: { type: "string", "x-identity": { namespace: "email" } },
    total: { type: "number" },
    n: { type: "integer" },
  },
};
const PAGE = { limit: 100, before: null, since: null, hasAmounts: false };

describe("Tallies that are being filled", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  let id: WorkspaceId;
  let schemaId: string;

  const backends = () => app().service.backends;
  const services = (): LookServices => ({
    ...backends(),
    log: silentLog,
    identity: app().service.identity,
    limits: { profileIdentifiersMax: 100 } as LookServices["limits"],
  });
  const rest = () => app().service.keeper!.rest();
  const create = (rule: object) => workspace.send("POST", "/v1/audiences", { name: "a", rule });
  const event = async (email: string, payload: object, timestamp = new Date().toISOString()) => {
    const sent = await workspace.send("POST", "/v1/collect", {
      schema_id: schemaId,
      timestamp,
      payload: { ...payload, email },
    });
    assert.equal(sent.status, 202, sent.text);
    return (await workspace.settled(sent.body["event_id"])).body;
  };
  /** Very many of one person, as a worker leaves them. */
  const storeMany = async (email: string, count: number): Promise<readonly EventRecord[]> => {
    const { body } = { body: await event(email, { n: -1 }) };
    const facet = (await backends().events.find(id, textAt(body, "event_id") as EventId))!.facet!;
    const all = Array.from({ length: count }, (_, n) =>
      anEvent({
        workspace: id,
        schemaId: schemaId as SchemaId,
        schemaVersion: 1,
        identifiers: [{ namespace: "email", value: email }],
        effectiveTs: instantOf(Date.now() - (count - n) * 1_000),
        receivedAt: Date.now() - count + n,
        payload: Buffer.from(JSON.stringify({ email, n, total: 0.1 })),
      }),
    );
    await backends().events.insert(id, all);
    await backends().events.fold(
      id,
      all.map((one) => aFold(one, { facet })),
    );
    return all;
  };

  beforeEach(async () => {
    workspace = await app().workspace();
    id = workspace.id as WorkspaceId;
    schemaId = await workspace.schema(SHOP);
  });

  it("leave it open who is in an audience as long as they are being filled", async () => {
    const created = await create({ $events: { schema_id: schemaId } });
    assert.equal(created.status, 201, created.text);
    const profileId = textAt(await event("ann@example.com", { n: 1 }), "profile_id") as ProfileId;
    await rest();
    const set = await backends().audiences.audiences(id);
    const judged = async (filling: { readonly after: null } | null) => {
      const tallies = set.tallies.map((one) => ({ ...one, filling }));
      const by = compileAudiences({ ...set, tallies });
      const [found] = await judgeAll(services(), id, { profileIds: [profileId], by, now: Date.now() });
      return found!.kind === "live" ? found!.judged.map(({ is }) => is) : found!.kind;
    };
    assert.deepEqual(await judged(null), [true]);
    assert.deepEqual(await judged({ after: null }), [null]);
    // A build that went on meanwhile would be over before anybody was judged.
    const counting = {
      ...set,
      audiences: set.audiences.map((one) => ({ ...one, build: newBuild("built") })),
      tallies: set.tallies.map((one) => ({ ...one, filling: { after: null } })),
    };
    const deps = { ...services(), catalog: backends().catalog, now: () => Date.now() } as unknown as AudienceDeps;
    assert.equal(await buildPage(deps, id, counting), false);
  });

  it("are filled from where each of them stands, also beside one that is further", async () => {
    await create({ $events: { schema_id: schemaId, where: { n: { $gte: 0 } } } });
    await create({ $events: { schema_id: schemaId, where: { n: { $gte: -5 } } } });
    const all = await storeMany("ann@example.com", 3);
    await rest();
    const [further, behind] = (await backends().audiences.audiences(id)).tallies;
    const { facet } = (await backends().events.find(id, all[0]!.eventId))!;
    const counted = async () =>
      (await backends().tallies.newest(id, behind!.tallyId, [facet!], PAGE)).map(({ eventId }) => eventId).toSorted();
    // As if the second had come when the first was nearly filled.
    await backends().tallies.uncount(
      id,
      all.map(({ eventId }) => ({ eventId, uid: facet!, tallies: [{ tallyId: behind!.tallyId, amount: null }] })),
    );
    const last = all.at(-1)!;
    await backends().audiences.changeTallies(id, (current) => ({
      ...current,
      tallies: [
        { ...further!, filling: { after: { receivedAt: last.receivedAt, eventId: last.eventId } } },
        { ...behind!, filling: { after: null } },
      ],
    }));
    await rest();
    const set = await backends().audiences.audiences(id);
    assert.ok(set.tallies.every(({ filling }) => filling === null));
    assert.deepEqual(
      (await counted()).filter((eventId) => all.some((one) => one.eventId === eventId)),
      all.map(({ eventId }) => eventId).toSorted(),
    );
  });

  it("are noted as filled only behind what was counted, whoever dies between", async () => {
    await create({ $events: { schema_id: schemaId } });
    await storeMany("ann@example.com", 3);
    await rest();
    const unfill = async () => {
      await backends().audiences.changeTallies(id, (current) => ({
        ...current,
        tallies: current.tallies.map((one) => ({ ...one, filling: { after: null } })),
      }));
      return (await backends().audiences.audiences(id)).tallies;
    };
    let set = { ...(await backends().audiences.audiences(id)), tallies: await unfill() };
    // Apart from the store that the running keeper tends.
    const deps = {
      ...backends(),
      log: silentLog,
      audiences: {
        audiences: async () => set,
        changeTallies: async (_: WorkspaceId, change: (current: AudienceSet) => Partial<AudienceSet> | null) =>
          (set = { ...set, ...change(set) }),
      },
      tallies: { ...backends().tallies, count: () => Promise.reject(new Error("died")) },
    } as unknown as Parameters<typeof tendTallies>[0];
    await assert.rejects(tendTallies(deps, id, createWalks()), /died/);
    assert.ok(set.tallies.length > 0 && set.tallies.every(({ filling }) => filling !== null));
  });
});
