import assert from "node:assert/strict";
import type { Identity } from "../../../core/identity/api.js";
import type { ProfileId, WorkspaceId } from "../../../core/ids.js";
import type { Identifier } from "../../../core/event/event.js";
import type { Change, ProfileRef } from "../../../core/identity/model.js";
import type { ChangedIdentifier } from "../../../core/identity/names.js";
import { isShared } from "./assertions.js";
import {
  historyOf,
  idOf,
  membersOf,
  nameOf,
  pairName,
  pairsOf,
  profilesOf,
  type ModelChange,
  type Name,
  type TrustState,
} from "./model.js";
import { IDENTIFIERS } from "./program.js";

const ALL = { limit: 1_000, after: null };
const NEWEST = { limit: 1_000, before: null };

/** All that stands, read through the public face, is what the model has. */
export async function checkAll(identity: Identity, workspace: WorkspaceId, state: TrustState): Promise<void> {
  await checkProfiles(identity, workspace, state);
  await checkLists(identity, workspace, state);
  await checkMarks(identity, workspace, state);
  for (const name of oneOfEach(state)) await checkProfile(identity, workspace, state, name);
}

async function checkProfiles(identity: Identity, workspace: WorkspaceId, state: TrustState): Promise<void> {
  const found = await identity.lookup(workspace, IDENTIFIERS);
  for (const [i, name] of IDENTIFIERS.map(nameOf).entries()) {
    const wanted = profilesOf(state, [name])[0] ?? null;
    assert.deepEqual(refOf(found[i] ?? null), wanted, name);
  }
}

const refOf = (ref: ProfileRef | null) => ref && { profileId: ref.profileId, size: ref.size };

const oneOfEach = (state: TrustState): readonly Name[] => [
  ...new Map([...state.seen].map((name) => [idOf(state, name), name])).values(),
];

/** By any id that it ever had. */
async function checkProfile(identity: Identity, workspace: WorkspaceId, state: TrustState, name: Name): Promise<void> {
  const names = [...membersOf(state, name)];
  const anyId: ProfileId = state.uidOf(name);
  assert.deepEqual(refOf(await identity.resolve(workspace, anyId)), profilesOf(state, [name])[0], name);
  const members = await identity.members(workspace, anyId, ALL);
  assert.deepEqual(
    members.map((one) => [one.uid, nameOf(one.identifier), one.isShared]),
    names.map((one) => [state.uidOf(one), one, isShared(state, one)]).toSorted(byUid),
  );
  const at = new Map(names.map((one) => [state.uidOf(one), one]));
  const links = await identity.links(workspace, anyId, ALL);
  const wanted = pairsOf(names).map(pairName);
  assert.deepEqual(
    links.map(({ from, to, changeId }) => `${pairName([at.get(from)!, at.get(to)!])} ${changeId}`).toSorted(),
    wanted
      .flatMap((pair) => {
        const link = state.links.get(pair);
        return link?.isActive === true ? [`${pair} ${link.change}`] : [];
      })
      .toSorted(),
  );
  const history = (await identity.history(workspace, anyId, NEWEST)).map(showChange);
  // A record that names somebody who was not seen yet may be of his history too, or not.
  const isClear = ({ names, standing }: Named) => names.every((one) => standing.includes(one));
  const known = new Map(state.changes.map((change) => [change.changeId, change]));
  assert.deepEqual(
    history.filter(({ changeId }) => isClear(known.get(changeId)!)),
    historyOf(state, name).filter(isClear).map(withoutStanding),
    `the history of ${name}`,
  );
}

/** As an export has them: what each undo left that nobody reverted. */
async function checkMarks(identity: Identity, workspace: WorkspaceId, { unlinked }: TrustState): Promise<void> {
  const found: string[] = [];
  for (const outcome of ["unlinked", "reverted"] as const)
    for (const change of await identity.changes(workspace, outcome, NEWEST))
      for (const { identifier, by, at } of (await identity.takenBy(workspace, change, null)).unlinked)
        found.push(`${nameOf(identifier)} ${by} ${at}`);
  const wanted = [...unlinked].flatMap(([name, marks]) => marks.map(({ by, at }) => `${name} ${by} ${at}`));
  assert.deepEqual(found.toSorted(), wanted.toSorted(), "marks of unlinks");
}

const byUid = (a: readonly unknown[], b: readonly unknown[]): number => (String(a[0]) < String(b[0]) ? -1 : 1);

async function checkLists(identity: Identity, workspace: WorkspaceId, state: TrustState): Promise<void> {
  const forbiddenPairs = await identity.forbiddenPairs(workspace, ALL);
  const pairs = forbiddenPairs.map(({ from, to }) => pairName([nameOf(from), nameOf(to)]));
  assert.deepEqual(pairs.toSorted(), [...state.forbiddenPairs.keys()].toSorted(), "forbidden pairs");
  const { members: sharedIdentifiers } = await identity.sharedIdentifiers(workspace, ALL);
  assert.deepEqual(
    sharedIdentifiers.map(({ identifier }) => nameOf(identifier)).toSorted(),
    [...state.sharedIdentifiers].filter((name) => isShared(state, name)).toSorted(),
    "sharedIdentifiers",
  );
  const changes = await identity.changes(workspace, null, NEWEST);
  assert.deepEqual(changes.map(showChange), state.changes.toReversed().map(withoutStanding), "changes");
  const refusals = await identity.changes(workspace, "refused", NEWEST);
  assert.equal(refusals.length, state.changes.filter(({ outcome }) => outcome === "refused").length);
}

type Named = Pick<ModelChange, "names" | "standing">;
const withoutStanding = (change: ModelChange): ModelChange => ({ ...change, standing: [] });

const showDropped = (one: Change["dropped"][number]): string =>
  "identifier" in one
    ? `${nameIn(one.identifier)} ${one.rule}`
    : `${pairName([nameIn(one.from), nameIn(one.to)])} ${one.rule}`;

/** Nobody is erased in a program. */
const nameIn = (one: ChangedIdentifier) => nameOf(one as Identifier);

const showChange = (change: Change): ModelChange => ({
  changeId: change.changeId,
  names: change.identifiers.map(nameIn),
  standing: [],
  outcome: change.outcome,
  before: change.before,
  after: change.after,
  dropped: change.dropped.map(showDropped).toSorted(),
  rule: change.rule,
  reverts: change.reverts,
  isForbidding: change.isForbidding,
});
