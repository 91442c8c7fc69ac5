import assert from "node:assert/strict";
import type { Identity, UndoResult } from "../../../core/identity/api.js";
import type { KeyId, ProfileId } from "../../../core/ids.js";
import type { Source } from "../../../core/identity/model.js";
import { createIdentity } from "../../../graph/identity.js";
import { embeddedGraph } from "../../support/backends.js";
import { aWorkspace } from "../../support/identity/fixtures.js";
import { makeLargeProfile, type LargeProfile } from "../../support/service/profiles/large-profile.js";
import { SEED } from "../../support/random/random.js";

const SIZE = 2_500;
const TOLD = 1_000;

describe(`An undo that makes ${SIZE.toLocaleString("en")} profiles of one`, () => {
  const workspace = aWorkspace();
  let close: () => Promise<void>;
  let identity: Identity;
  let hub: LargeProfile;
  before(async () => {
    const place = await embeddedGraph.place();
    const graph = await place.open();
    close = async () => {
      await graph.close();
      await place.drop();
    };
    hub = await makeLargeProfile(graph, workspace, { name: "hub", size: SIZE, chain: 1, seed: SEED, isStar: true });
    identity = createIdentity({ graph, timeoutMs: 8_000, longTimeoutMs: 60_000 });
  });
  after(() => close?.());

  const evidence = (source: Source) => ({ source, keyId: "key0000001" as KeyId, at: Date.now() });
  const dryRun = { dryRun: true };
  const firstIds = (): readonly ProfileId[] => hub.uids.toSorted().slice(0, TOLD);
  const told = ({ before, after, profileIds, profilesBefore, profilesAfter }: UndoResult) => ({
    counts: [profilesBefore, profilesAfter],
    lists: [before.length, after.length, profileIds.length],
  });

  it("counts them all, and names the first 1,000 by id", async () => {
    const request = { identifier: hub.identifierAt(0) };
    const preview = await identity.unlink(workspace, request, evidence("unlink"), dryRun);
    assert.deepEqual(told(preview), { counts: [1, SIZE], lists: [1, TOLD, TOLD] });
    assert.deepEqual(preview.profileIds, firstIds());
    assert.deepEqual(
      preview.after,
      firstIds().map((profileId) => ({ profileId, size: 1 })),
    );
    const undone = await identity.unlink(workspace, request, evidence("unlink"));
    assert.deepEqual(told(undone), told(preview));
    const back = await identity.revert(workspace, undone.changeId!, evidence("revert"), dryRun);
    assert.deepEqual(told(back), { counts: [SIZE, 1], lists: [TOLD, 1, 1] });
    const change = await identity.findChange(workspace, undone.changeId!);
    assert.deepEqual(change?.after, firstIds());
  });

  it("counts a profile once, however many of its identifiers a change names", async () => {
    const identifiers = ["a", "b", "c"].map((value) => ({ namespace: "user_id", value }));
    const { changeId } = await identity.assert(workspace, { identifiers, evidence: evidence("identify") });
    await identity.revert(workspace, changeId!, evidence("revert"));
    await identity.assert(workspace, { identifiers: identifiers.slice(0, 2), evidence: evidence("identify") });
    const nothing = await identity.revert(workspace, changeId!, evidence("revert"), dryRun);
    assert.deepEqual(told(nothing), { counts: [2, 2], lists: [2, 2, 2] });
    assert.equal(nothing.outcome, "unchanged");
  });
});
