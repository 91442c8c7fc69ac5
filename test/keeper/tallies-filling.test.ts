import assert from "node:assert/strict";
import { compileAudiences } from "../../commands/audiences/judged.js";
import { judgeAll, type LookServices } from "../../commands/audiences/look.js";
import { newBuild, NO_AUDIENCES, type Filling, type StandingTally } from "../../core/audience/audience.js";
import { buildPage } from "../../keeper/audiences/build.js";
import type { AudienceDeps } from "../../keeper/audiences/deps.js";
import type { AudienceSet } from "../../core/audience/audience.js";
import { createWalks, tendTallies } from "../../keeper/tallies.js";
import { silentLog } from "../../app/logger.js";
import type { EventId, ProfileId, WorkspaceId } from "../../core/ids.js";
import { textAt, useApp, type TestWorkspace } from "../support/service/app.js";
import { openTallyShop, type TallyShop } from "../support/service/tally-shop.js";

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
  let shop: TallyShop;
  beforeEach(async () => {
    shop = await openTallyShop(app());
    ({ workspace, id, schemaId } = shop);
  });
  const event: TallyShop["event"] = (...sent) => shop.event(...sent);
  const storeMany: TallyShop["storeMany"] = (...asked) => shop.storeMany(...asked);

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

  it("are noted no further back than another process has come, and as filled once it has filled them", async () => {
    await create({ $events: { schema_id: schemaId } });
    const all = await storeMany("ann@example.com", 600);
    await rest();
    const [{ tallyId, tally }] = (await backends().audiences.audiences(id)).tallies as [StandingTally];
    const placeOf = ({ receivedAt, eventId }: { readonly receivedAt: number; readonly eventId: EventId }) => ({
      after: { receivedAt, eventId },
    });
    /** What stands once a piece was counted from the beginning while another process noted this. */
    const noted = async (meanwhile: Filling | null) => {
      let set: AudienceSet = { ...NO_AUDIENCES, tallies: [{ tallyId, tally, filling: { after: null } }] };
      const deps = {
        ...backends(),
        log: silentLog,
        audiences: {
          audiences: async () => set,
          changeTallies: async (_: WorkspaceId, change: (current: AudienceSet) => Partial<AudienceSet> | null) => {
            set = { ...set, tallies: [{ tallyId, tally, filling: meanwhile }] };
            set = { ...set, ...change(set) };
          },
        },
      } as unknown as Parameters<typeof tendTallies>[0];
      // Each look at this clock is later by more than the time between two notes.
      let now = 0;
      await tendTallies(deps, id, createWalks(), () => (now += 10_000));
      return set.tallies[0]!.filling;
    };
    const own = await noted({ after: null });
    assert.notEqual(own?.after ?? null, null, "500 of 601 are counted in one piece");
    assert.deepEqual(await noted(placeOf(all.at(-1)!)), placeOf(all.at(-1)!));
    assert.deepEqual(await noted(placeOf(all[0]!)), own);
    assert.equal(await noted(null), null);
  });
});
