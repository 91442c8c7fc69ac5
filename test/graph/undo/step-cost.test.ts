import assert from "node:assert/strict";
import { identifierKey } from "../../../core/event/event.js";
import type { ChangeId, IdentifierKey, KeyId, Uid, WorkspaceId } from "../../../core/ids.js";
import type { SeenComponent, SeenIdentifier } from "../../../core/identity/snapshot.js";
import { REMOVAL_REV, type Border } from "../../../core/identity/step.js";
import { createGraphBuilder, type ComponentGraph } from "../../../graph/undo/component-graph.js";
import { removalSteps } from "../../../graph/undo/removal.js";
import { splitWithout } from "../../../graph/undo/split.js";
import { NO_RULES } from "../../../graph/rules/assert.js";
import { EMPTY_SNAPSHOT } from "../../../graph/rules/working-state.js";
import { aWorkspace, anIdentifier } from "../../support/identity/fixtures.js";
import { aChange } from "../../support/identity/plans.js";

const LINKS_PER_STEP = 50;
/** A step may look at so many members and links for each that it removes. */
const LOOKS_PER_LINK = 40;

/** A hub with so many links, and a counter of whatever is looked at in it. */
function aCountedStar(size: number) {
  const uid = (n: number): Uid => `uid-${String(n).padStart(6, "0")}` as Uid;
  const { addMembers, addLinks, build } = createGraphBuilder();
  const members = Array.from({ length: size }, (_, n) => ({
    uid: uid(n),
    identifier: anIdentifier(`p${n}`),
    isShared: false,
  }));
  addMembers(members);
  const at = { source: "identify", keyId: "key0000001" as KeyId, at: 1 } as const;
  addLinks(
    members.slice(1).map((one) => ({ from: uid(0), to: one.uid, changeId: "change" as ChangeId, evidence: at })),
  );
  const looks = { count: 0 };
  const counted = <A extends readonly unknown[], R>(look: (...asked: A) => R) => {
    return (...asked: A): R => {
      looks.count += 1;
      return look(...asked);
    };
  };
  const countedColumn = (column: Uint32Array): Uint32Array =>
    new Proxy(column, {
      get: (of, name) => {
        looks.count += 1;
        const value: unknown = Reflect.get(of, name, of);
        return typeof value === "function" ? (value.bind(of) as unknown) : value;
      },
    });
  const plain = build();
  const graph: ComponentGraph = {
    ...plain,
    uidOf: counted(plain.uidOf),
    identifierOf: counted(plain.identifierOf),
    positionOf: counted(plain.positionOf),
    linkOf: counted(plain.linkOf),
    timeOf: counted(plain.timeOf),
    byUid: () => countedColumn(plain.byUid()),
    ends: countedColumn(plain.ends),
    starts: countedColumn(plain.starts),
    around: countedColumn(plain.around),
  };
  return { graph, members, looks };
}

/** The most that one step looks at, while all links of the hub are removed. */
function mostLooks(size: number, workspace: WorkspaceId, border: Border | null): number {
  const { graph, members, looks } = aCountedStar(size);
  const all = new Set(Array.from({ length: size - 1 }, (_, n) => n));
  const split = splitWithout(graph, all, [], 0);
  const key = identifierKey(workspace, members[0]!.identifier);
  let [most, left, rev] = [0, size, 1];
  for (const step of removalSteps(workspace, { affected: [{ key, rev, split }], forbid: null }, () => LINKS_PER_STEP)) {
    const { profileId } = split.parts[split.stays]!;
    // With a border, somebody wrote since the profile was read.
    if (border !== null) rev += 1;
    const component: SeenComponent = {
      profileId,
      size: left,
      counts: new Map([["user_id", left]]),
      forbidden: [],
      rev,
    };
    const seen = (uid: Uid): SeenIdentifier => ({ uid, component: 1, unlinkedAt: null, seenWith: [], isShared: false });
    const identifiers = new Map<IdentifierKey, SeenIdentifier>(step.keys.map((one) => [one, seen(members[0]!.uid)]));
    const now = { ...EMPTY_SNAPSHOT, identifiers, components: new Map([[1, component]]) };
    looks.count = 0;
    const planned = step.plan({ now, border, change: aChange(), isFirst: left === members.length, rules: NO_RULES });
    most = Math.max(most, looks.count);
    assert.ok(planned !== "changed" && "plan" in planned && planned.plan !== null);
    left -= planned.plan.removes!.length;
    planned.onWritten!();
    rev += REMOVAL_REV + 1;
  }
  assert.equal(left, 1, "all leave the hub");
  return most;
}

describe("A step of an undo", () => {
  const workspace = aWorkspace();
  const borders = { "stays as it is": null, grows: { links: [], firstOutside: new Map() } };
  for (const [what, border] of Object.entries(borders))
    it(`costs the links that it removes, however large the profile is, when it ${what}`, () => {
      const [small, large] = [mostLooks(1_000, workspace, border), mostLooks(10_000, workspace, border)];
      assert.equal(large, small);
      assert.ok(large > 0 && large <= LOOKS_PER_LINK * LINKS_PER_STEP, `${large} looks`);
    });
});
