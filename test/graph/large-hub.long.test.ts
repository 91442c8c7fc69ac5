import assert from "node:assert/strict";
import type { Identity, UndoResult } from "../../core/identity/api.js";
import type { KeyId } from "../../core/ids.js";
import type { Source } from "../../core/identity/model.js";
import { createIdentity } from "../../graph/identity.js";
import type { Progress } from "../../graph/undo/read.js";
import { embeddedGraph } from "../support/backends.js";
import { aWorkspace } from "../support/identity/fixtures.js";
import { makeLargeProfile, type LargeProfile } from "../support/service/profiles/large-profile.js";
import { newcomersIn, repeatsIn, undisturbedBy } from "../support/service/profiles/large-profile-tests.js";
import { SCALE, SEED } from "../support/random/random.js";

const LINKS = SCALE > 1 ? 20_000 : 4_000;
/** As the service has it. */
const LINKS_PER_STEP = 500;

/** A kiosk that everybody once signed in on: taking it out is the largest undo there is. */
describe(`A hub with ${LINKS.toLocaleString("en")} links, seed ${SEED}`, function () {
  this.timeout(180_000);
  const workspace = aWorkspace();
  let close: () => Promise<void>;
  let identity: Identity;
  let hub: LargeProfile;
  let undisturbed: ReturnType<typeof undisturbedBy>;
  const told: Progress[] = [];
  before(async () => {
    const place = await embeddedGraph.place();
    const graph = await place.open();
    close = async () => {
      await graph.close();
      await place.drop();
    };
    hub = await makeLargeProfile(graph, workspace, {
      name: "hub",
      size: LINKS + 1,
      chain: 1,
      seed: SEED,
      isStar: true,
    });
    const beside = await makeLargeProfile(graph, workspace, { name: "beside", size: 1_000, chain: 1, seed: SEED });
    const onProgress = (progress: Progress): void => void told.push(progress);
    const deps = { graph, timeoutMs: 8_000, longTimeoutMs: 170_000, linksPerStep: LINKS_PER_STEP, onProgress };
    identity = createIdentity(deps);
    undisturbed = undisturbedBy([repeatsIn(identity, beside), newcomersIn(identity, aWorkspace())]);
  });
  after(() => close?.());

  const evidence = (source: Source) => ({ source, keyId: "key0000001" as KeyId, at: Date.now() });
  /** Of the hub, its first neighbour and its last. */
  const sizes = async (): Promise<readonly (number | undefined)[]> => {
    const found = await identity.lookup(workspace, [0, 1, LINKS].map(hub.identifierAt));
    return found.map((ref) => ref?.size);
  };
  const tellsOf = (what: Progress["what"]): readonly number[] => {
    const done = told.filter((one) => one.what === what).map((one) => one.done);
    told.length = 0;
    return done;
  };
  /** A slow machine takes fewer links in a step. */
  const assertInSteps = (done: readonly number[]): void => {
    const links = done.map((all, n) => all - (done[n - 1] ?? 0));
    assert.ok(
      links.every((step) => step > 0 && step <= LINKS_PER_STEP),
      links.join(" "),
    );
    assert.equal(done.at(-1), LINKS);
  };
  let last: UndoResult;

  it("is taken out, while others hardly wait, and tells how far it is", async () => {
    last = await undisturbed("the unlink", () =>
      identity.unlink(workspace, { identifier: hub.identifierAt(0) }, evidence("unlink")),
    );
    assert.deepEqual([last.outcome, last.profileIds.length, last.before[0]!.size], ["unlinked", 1_000, LINKS + 1]);
    assert.deepEqual(await sizes(), [1, 1, 1]);
    assertInSteps(tellsOf("removed links"));
  });

  it("is whole again when that is reverted", async () => {
    last = await undisturbed("the revert", () => identity.revert(workspace, last.changeId!, evidence("revert")));
    assert.deepEqual([last.outcome, last.dropped], ["reverted", []]);
    assert.deepEqual(await sizes(), [LINKS + 1, LINKS + 1, LINKS + 1]);
    assertInSteps(tellsOf("restored links"));
  });

  it("and out when that is reverted", async () => {
    last = await undisturbed("its revert", () => identity.revert(workspace, last.changeId!, evidence("revert")));
    assert.equal(last.outcome, "reverted");
    assert.deepEqual(await sizes(), [1, 1, 1]);
    assertInSteps(tellsOf("removed links"));
  });
});
