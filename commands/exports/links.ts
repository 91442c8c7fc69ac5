import type { Change, ForbiddenPair, ListedLink } from "../../core/identity/model.js";
import type { WalkedProfile } from "../../core/identity/pages.js";
import type { RemovedPair, Taken, UnlinkedMark } from "../../core/identity/api.js";
import type { ChangeId, ForbiddenPairId, ProfileId, Uid, WorkspaceId } from "../../core/ids.js";
import type { Services } from "../services.js";

export interface ExportedLink extends ListedLink {
  readonly profileId: ProfileId;
}

export type LinkRecord =
  | { readonly kind: "link"; readonly link: ExportedLink }
  | { readonly kind: "forbidden_pair"; readonly pair: ForbiddenPair }
  | { readonly kind: "removed_link"; readonly link: RemovedPair; readonly place: TakenPlace }
  | { readonly kind: "unlinked"; readonly mark: UnlinkedMark; readonly place: TakenPlace };

/** How far an export of links has come. */
export type LinkPlace =
  | { readonly kind: "link"; readonly profileId: ProfileId; readonly from: Uid; readonly to: Uid }
  | { readonly kind: "forbidden_pair"; readonly forbiddenPairId: ForbiddenPairId }
  | TakenPlace;

/** Through what was taken away by changes of that outcome, the newest first, up to one. */
export interface TakenPlace {
  readonly kind: "taken";
  readonly outcome: (typeof TAKING)[number];
  readonly before: ChangeId | null;
}
/** Nothing else takes anything away. */
export const TAKING = ["unlinked", "reverted"] as const;

const PROFILES_PER_READ = 100;
/** Read at once: on servers each is a call of its own. */
const PROFILES_AT_ONCE = 10;
const ROWS_PER_READ = 500;

type Graph = Pick<Services, "identity">;

/** All active links, by profile; then all forbidden pairs; then what was removed and not restored. */
export async function* exportLinks(
  services: Graph,
  workspace: WorkspaceId,
  after: LinkPlace | null,
): AsyncGenerator<readonly LinkRecord[], void> {
  if (after === null || after.kind === "link") yield* activeLinks(services, workspace, after);
  if (after?.kind !== "taken") yield* forbiddenPairs(services, workspace, after);
  const from = after?.kind === "taken" ? TAKING.indexOf(after.outcome) : 0;
  for (const outcome of TAKING.slice(from)) {
    const before = after?.kind === "taken" && after.outcome === outcome ? after.before : null;
    yield* taken(services, workspace, outcome, before);
  }
}

async function* forbiddenPairs(
  { identity }: Graph,
  workspace: WorkspaceId,
  after: LinkPlace | null,
): AsyncGenerator<readonly LinkRecord[], void> {
  for (let last = after?.kind === "forbidden_pair" ? after.forbiddenPairId : null; ;) {
    const found = await identity.forbiddenPairs(workspace, { limit: ROWS_PER_READ, after: last });
    yield found.map((pair) => ({ kind: "forbidden_pair", pair }));
    if (found.length < ROWS_PER_READ) return;
    last = found.at(-1)!.forbiddenPairId;
  }
}

async function* taken(
  { identity }: Graph,
  workspace: WorkspaceId,
  outcome: TakenPlace["outcome"],
  before: ChangeId | null,
): AsyncGenerator<readonly LinkRecord[], void> {
  for (let last = before; ;) {
    const found = await identity.changes(workspace, outcome, { limit: CHANGES_PER_READ, before: last });
    for (const change of found) {
      for (let after: string | null = null; ;) {
        const some = await identity.takenBy(workspace, change, after);
        yield* recordsOfTaken(some, { kind: "taken", outcome, before: last }, change.changeId);
        if (some.next === null) break;
        after = some.next;
      }
      last = change.changeId;
    }
    if (found.length < CHANGES_PER_READ) return;
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
  for (let from = 0; from < rows; from += ROWS_PER_READ) yield records.slice(from, from + ROWS_PER_READ);
}

async function* activeLinks(
  services: Graph,
  workspace: WorkspaceId,
  after: Extract<LinkPlace, { kind: "link" }> | null,
): AsyncGenerator<readonly LinkRecord[], void> {
  if (after !== null) yield* linksOf(services, workspace, after.profileId, after);
  for (let last = after?.profileId ?? null; ;) {
    const found = await services.identity.walk(workspace, { limit: PROFILES_PER_READ, after: last, membersMax: 0 });
    const linked = found.filter(({ size }) => size > 1);
    for (let next = 0; next < linked.length; next += PROFILES_AT_ONCE)
      yield* linksOfSome(services, workspace, linked.slice(next, next + PROFILES_AT_ONCE));
    if (found.length < PROFILES_PER_READ) return;
    last = found.at(-1)!.profileId;
  }
}

/** The first links of several profiles together, then what is left of large ones. */
async function* linksOfSome(
  services: Graph,
  workspace: WorkspaceId,
  some: readonly WalkedProfile[],
): AsyncGenerator<readonly LinkRecord[], void> {
  const small = some.filter(({ size }) => size <= SMALL_MAX);
  const pages = new Map<ProfileId, readonly ListedLink[]>();
  await Promise.all(
    small.map(async ({ profileId }) => pages.set(profileId, await readLinks(services, workspace, profileId, null))),
  );
  let part: LinkRecord[] = [];
  for (const { profileId } of some) {
    const page = pages.get(profileId);
    if (page !== undefined && page.length < ROWS_PER_READ) {
      part.push(...recordsOf(profileId, page));
      continue;
    }
    yield part;
    part = [];
    yield* linksOf(services, workspace, profileId, null);
  }
  yield part;
}
const SMALL_MAX = 20;

async function* linksOf(
  services: Graph,
  workspace: WorkspaceId,
  profileId: ProfileId,
  after: { readonly from: Uid; readonly to: Uid } | null,
): AsyncGenerator<readonly LinkRecord[], void> {
  for (let last = after; ;) {
    const found = await readLinks(services, workspace, profileId, last);
    yield recordsOf(profileId, found);
    if (found.length < ROWS_PER_READ) return;
    last = found.at(-1)!;
  }
}

const readLinks = (
  { identity }: Graph,
  workspace: WorkspaceId,
  profileId: ProfileId,
  after: { readonly from: Uid; readonly to: Uid } | null,
): Promise<readonly ListedLink[]> => identity.links(workspace, profileId, { limit: ROWS_PER_READ, after });

const recordsOf = (profileId: ProfileId, links: readonly ListedLink[]): readonly LinkRecord[] =>
  links.map((link) => ({ kind: "link", link: { ...link, profileId } }));

/** The records of all changes, the newest first. */
export async function* exportChanges(
  { identity }: Graph,
  workspace: WorkspaceId,
  before: ChangeId | null,
): AsyncGenerator<readonly Change[], void> {
  for (let last = before; ;) {
    const found = await identity.changes(workspace, null, { limit: CHANGES_PER_READ, before: last });
    yield found;
    if (found.length < CHANGES_PER_READ) return;
    last = found.at(-1)!.changeId;
  }
}
const CHANGES_PER_READ = 200;
