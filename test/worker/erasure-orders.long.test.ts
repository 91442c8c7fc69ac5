import assert from "node:assert/strict";
import { identifierKey } from "../../core/event/event.js";
import type { IdentifierKey } from "../../core/ids.js";
import { aKeyOf, anEvent } from "../support/builders.js";
import { SCALE } from "../support/random/random.js";
import { explore, type Actor, type Explored } from "../support/explore/explore.js";
import { aWorld, erase, ERASED_AT, work, type Broken, type World } from "../support/erasure/model.js";

const A = { namespace: "email", value: "a@example.com" };
const B = { namespace: "user_id", value: "b" };
const EFFECTIVE = "1970-01-01T00:00:00.050000000Z";

/** The real code of worker and keeper, in every order of its steps, each killed once anywhere. */
describe("An erasure beside a worker, in every order", () => {
  const early = { receivedAt: ERASED_AT / 2, effectiveTs: EFFECTIVE };
  const own = anEvent({ ...early, identifiers: [A] });
  const { workspace } = own;
  const a: IdentifierKey = identifierKey(workspace, A);
  const kept = anEvent({ ...early, workspace, identifiers: [A], folds: false });
  const others = anEvent({ ...early, workspace, identifiers: [B, A] });
  const both = anEvent({ ...early, workspace, identifiers: [A, B] });
  const b = aKeyOf(workspace, "b");
  const shared = anEvent({ ...early, workspace, identifiers: [B, A], folds: false });

  const run = (
    event: typeof own,
    living: readonly IdentifierKey[],
    wrong: (world: World) => string | null,
    broken?: Broken,
    {
      gone = a,
      others = [],
      shared = [],
    }: {
      readonly gone?: IdentifierKey;
      readonly others?: readonly Actor<World>[];
      readonly shared?: readonly IdentifierKey[];
    } = {},
  ): Promise<Explored> =>
    explore({
      world: () => aWorld(living, shared),
      actors: [
        { name: "worker", run: (step) => work(step, event, broken), crashes: 1 },
        { name: "keeper", run: (step) => erase(step, event, gone), crashes: SCALE > 1 ? 1 : 0 },
        ...others,
      ],
      atRest: wrong,
    });
  const isFound = ({ violation }: Explored): boolean => violation !== null;

  const left = ({ event, facets, buried, living }: World): string | null => {
    if (event?.status !== "dropped") return `the event is ${event?.status ?? "not there"}`;
    if (living.has(a)) return "the person is back";
    for (const { uids } of buried.values()) if (uids.some((uid) => facets.has(uid))) return "a facet is left";
    return facets.size > 0 ? "a facet of nobody is left" : null;
  };

  it("leaves nothing of the person, whoever comes first and whoever is killed where", async () => {
    for (const living of SCALE > 1 ? [[a], []] : [[a]]) {
      const { states, violation } = await run(own, living, left);
      assert.equal(violation, null, violation?.trace.join("\n"));
      assert.ok(states > 500, `${states} states`);
    }
  });

  it("is found wrong without the look after the fold, and without what stands under the dead uids", async () => {
    const blind: Broken = { late: (late) => ({ ...late, lookAfter: async () => undefined }) };
    assert.ok(isFound(await run(own, [a], left, blind)));
    const forgetful: Broken = {
      late: (late) => ({
        ...late,
        dropRefused: (ws, refused) =>
          late.dropRefused(
            ws,
            refused.map((one) => ({ ...one, refusedBy: { ...one.refusedBy, uids: [] } })),
          ),
      }),
      forgetsFacet: true,
    };
    assert.ok(isFound(await run(own, [a], left, forgetful)));
  });

  it("leaves nothing under the facet that another worker gave the event before it died", async () => {
    const pinned: Actor<World> = {
      name: "another worker",
      run: (step) =>
        step("pin another", ({ event, living }) => {
          if (event?.status === "stored") event.facet ??= living.get(b) ?? null;
        }),
    };
    const bytes = ({ buried, facets }: World): string | null =>
      [...buried.values()].some(({ uids }) => uids.some((uid) => facets.has(uid))) ? "a facet is left" : null;
    const { violation } = await run(both, [a, b], bytes, {}, { gone: b, others: [pinned] });
    assert.equal(violation, null, violation?.trace.join("\n"));
  });

  it("deletes an event that does not fold and was queued before, and is found wrong without the look", async () => {
    const gone = ({ event }: World): string | null => (event?.status === "dropped" ? null : `it is ${event?.status}`);
    const { violation } = await run(kept, [a], gone);
    assert.equal(violation, null, violation?.trace.join("\n"));
    const blind: Broken = { late: (late) => ({ ...late, lookAfter: async () => undefined }) };
    assert.ok(isFound(await run(kept, [a], gone, blind)));
    const behindShared = await run(shared, [b, a], gone, {}, { shared: [b] });
    assert.equal(behindShared.violation, null, behindShared.violation?.trace.join("\n"));
  });

  it("takes no event from somebody else that names the person, also killed between fold and mark", async () => {
    const stays = ({ event, facets, living }: World): string | null => {
      if (event?.status !== "folded") return `it is ${event?.status}`;
      const uid = living.get(b);
      return uid !== undefined && facets.get(uid)?.length === 1 && facets.size === 1
        ? null
        : "it is not in its facet alone";
    };
    const { violation } = await run(others, [b, a], stays);
    assert.equal(violation, null, violation?.trace.join("\n"));
    assert.ok(isFound(await run(others, [b, a], stays, { refusesAnyName: true, forgetsFacet: true })));
  });
});
