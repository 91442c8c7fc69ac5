import assert from "node:assert/strict";
import { newId, type EventId, type Uid, type WorkspaceId } from "../../core/ids.js";
import type { StoredFacet } from "../../core/ports/profile-store.js";
import { NOTHING_FOLDED } from "../../core/profile/fold-events.js";
import { foldByPending, type FoldSteps } from "../../store/fold-by-pending.js";
import { aFold, anEvent, aWorkspace } from "../support/builders.js";

describe("A fold of large facets, and of a small one that others change all the time", () => {
  const workspace: WorkspaceId = aWorkspace().workspaceId;
  const hot = newId<Uid>();
  const folds = Array.from({ length: 120 }, (_, n) =>
    aFold(anEvent({ workspace }), { facet: n === 0 ? hot : newId<Uid>() }),
  );
  const facets = new Map<Uid, StoredFacet>();
  const marks = new Set<EventId>();
  const revOf = (uid: Uid): number => facets.get(uid)?.rev ?? 0;

  const steps: FoldSteps = {
    pin: async (_, some) => some.map(({ facet }) => facet),
    // Each of the others takes all bytes that are read at once.
    read: async (_, uids) => {
      const looked = uids.findIndex((uid) => uid !== hot) + 1 || uids.length;
      const known = uids.slice(0, looked).filter((uid) => facets.has(uid));
      return { found: new Map(known.map((uid) => [uid, facets.get(uid)!])), looked };
    },
    marked: async (_, eventIds) => new Set(eventIds.filter((eventId) => marks.has(eventId))),
    save: async (_, saves) => {
      // A large one takes its time.
      if (saves.some(({ uid }) => uid !== hot))
        facets.set(hot, { ...NOTHING_FOLDED, ...facets.get(hot), rev: revOf(hot) + 1 });
      return saves.map(({ uid, expectedRev, facet, pending }) => {
        const isSaved = revOf(uid) === expectedRev;
        if (isSaved) facets.set(uid, { facet, pending, rev: expectedRev + 1 });
        return isSaved;
      });
    },
    mark: async (_, eventIds) => eventIds.forEach((eventId) => marks.add(eventId)),
  };

  it("tries the small one again without the large ones, and ends", async () => {
    await foldByPending(steps, workspace, folds);
    assert.deepEqual(
      [...facets.values()].map(({ facet }) => facet.eventCount),
      folds.map(() => 1),
    );
    assert.equal(marks.size, folds.length);
  });
});
