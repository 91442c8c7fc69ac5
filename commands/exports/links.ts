import type { Taken } from "../../core/identity/api.js";
import type { ChangeId, WorkspaceId } from "../../core/ids.js";
import { readChanges } from "./changes.js";
import {
  linksOf,
  linksOfAll,
  PROFILES_PER_READ,
  ROWS_PER_READ,
  TAKING,
  type Graph,
  type LinkPlace,
  type LinkRecord,
  type PairPlace,
  type PlaceOf,
  type TakenPlace,
  type WalkPlace,
} from "./link-records.js";
import { latest, movedLinks } from "./moved.js";

/**
 * All forbidden pairs, so that an import knows them before a link could join their sides; then all active links, by profile, and once more
 * those of profiles that merge or split meanwhile, and of recent undos; then what was removed and not restored. `hasPairs`: what goes on
 * among the links has the pairs already; a build before sent them behind.
 */
export async function* exportLinks(
  services: Graph,
  workspace: WorkspaceId,
  after: LinkPlace | null,
  hasPairs = true,
): AsyncGenerator<readonly LinkRecord[], void> {
  if (after?.kind !== "taken") {
    const since = after === null ? await latest(services, workspace) : after.since;
    const among = after?.kind === "forbidden_pair" ? after : null;
    if (after === null || among !== null || !hasPairs) yield* forbiddenPairs(services, workspace, among, since);
    if (after?.kind === "moved") yield* movedLinks(services, workspace, after);
    else if (since !== null) {
      yield* activeLinks(services, workspace, after?.kind === "link" ? after : null, since);
      yield* movedLinks(services, workspace, { kind: "moved", since, before: null });
    }
  }
  const from = after?.kind === "taken" ? TAKING.indexOf(after.outcome) : 0;
  for (const outcome of TAKING.slice(from)) {
    const before = after?.kind === "taken" && after.outcome === outcome ? after.before : null;
    yield* taken(services, workspace, outcome, before);
  }
}

async function* forbiddenPairs(
  { identity }: Graph,
  workspace: WorkspaceId,
  after: PairPlace | null,
  since: ChangeId | null,
): AsyncGenerator<readonly LinkRecord[], void> {
  for (let last = after?.forbiddenPairId ?? null; ;) {
    const found = await identity.forbiddenPairs(workspace, { limit: ROWS_PER_READ, after: last });
    yield found.map((pair): LinkRecord => {
      const { forbiddenPairId } = pair;
      return { kind: "forbidden_pair", pair, place: { kind: "forbidden_pair", forbiddenPairId, since } };
    });
    if (found.length < ROWS_PER_READ) return;
    last = found.at(-1)!.forbiddenPairId;
  }
}

async function* taken(
  services: Graph,
  workspace: WorkspaceId,
  outcome: TakenPlace["outcome"],
  before: ChangeId | null,
): AsyncGenerator<readonly LinkRecord[], void> {
  let last = before;
  for await (const found of readChanges(services, workspace, outcome, before))
    for (const change of found) {
      for (let after: string | null = null; ;) {
        const some = await services.identity.takenBy(workspace, change, after);
        yield* recordsOfTaken(some, { kind: "taken", outcome, before: last }, change.changeId);
        if (some.next === null) break;
        after = some.next;
      }
      last = change.changeId;
    }
}

/** Behind the last of all the change is through; who stops before begins it anew. */
function* recordsOfTaken(
  { links, unlinked, next }: Taken,
  before: TakenPlace,
  changeId: ChangeId,
): Generator<readonly LinkRecord[], void> {
  const rows = links.length + unlinked.length;
  const placeOf = (n: number): TakenPlace =>
    next === null && n === rows - 1 ? { ...before, before: changeId } : before;
  const records = [
    ...links.map((link, n): LinkRecord => ({ kind: "removed_link", link, place: placeOf(n) })),
    ...unlinked.map((mark, n): LinkRecord => ({ kind: "unlinked", mark, place: placeOf(links.length + n) })),
  ];
  // An empty part, too: see `linksOfAll`.
  for (let from = 0; from === 0 || from < rows; from += ROWS_PER_READ) yield records.slice(from, from + ROWS_PER_READ);
}

async function* activeLinks(
  services: Graph,
  workspace: WorkspaceId,
  after: WalkPlace | null,
  since: ChangeId,
): AsyncGenerator<readonly LinkRecord[], void> {
  const placeOf: PlaceOf = ({ profileId, from, to }) => ({ kind: "link", profileId, from, to, since });
  if (after !== null) yield* linksOf(services, workspace, after.profileId, after, placeOf);
  for (let last = after?.profileId ?? null; ;) {
    const found = await services.identity.walk(workspace, { limit: PROFILES_PER_READ, after: last, membersMax: 0 });
    yield* linksOfAll(services, workspace, found, placeOf);
    if (found.length < PROFILES_PER_READ) return;
    last = found.at(-1)!.profileId;
  }
}
