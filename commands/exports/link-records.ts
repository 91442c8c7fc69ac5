import type { RemovedPair, UnlinkedMark } from "../../core/identity/api.js";
import type { ForbiddenPair, ListedLink } from "../../core/identity/model.js";
import type { WalkedProfile } from "../../core/identity/pages.js";
import type { ChangeId, ForbiddenPairId, ProfileId, Uid, WorkspaceId } from "../../core/ids.js";
import type { Services } from "../services.js";

export interface ExportedLink extends ListedLink {
  readonly profileId: ProfileId;
}

export type LinkRecord =
  | { readonly kind: "link"; readonly link: ExportedLink; readonly place: WalkPlace | MovedPlace }
  | { readonly kind: "forbidden_pair"; readonly pair: ForbiddenPair; readonly place: PairPlace }
  | { readonly kind: "removed_link"; readonly link: RemovedPair; readonly place: TakenPlace }
  | { readonly kind: "unlinked"; readonly mark: UnlinkedMark; readonly place: TakenPlace };

/** How far an export of links has come. */
export type LinkPlace = PairPlace | WalkPlace | MovedPlace | TakenPlace;

/** Among the forbidden pairs by id. */
export interface PairPlace {
  readonly kind: "forbidden_pair";
  readonly forbiddenPairId: ForbiddenPairId;
  /** When the export began: the newest change, or a later time. Null: of a build that sent the pairs behind the links. */
  readonly since: ChangeId | null;
}

/** Among the profiles by id. */
export interface WalkPlace {
  readonly kind: "link";
  readonly profileId: ProfileId;
  readonly from: Uid;
  readonly to: Uid;
  /** When the walk, or the export, began: the newest change, or a later time. */
  readonly since: ChangeId;
}

/** Among the changes since the walk, or the pass before, began, the newest first. */
export interface MovedPlace {
  readonly kind: "moved";
  readonly since: ChangeId;
  readonly before: ChangeId | null;
}

/** Through what was taken away by changes of that outcome, the newest first, up to one. */
export interface TakenPlace {
  readonly kind: "taken";
  readonly outcome: (typeof TAKING)[number];
  readonly before: ChangeId | null;
}
/** Nothing else takes anything away. */
export const TAKING = ["unlinked", "reverted"] as const;

/** Read at once: on servers each is a call of its own. */
const PROFILES_AT_ONCE = 10;
export const ROWS_PER_READ = 500;
export const PROFILES_PER_READ = 100;

export type Graph = Pick<Services, "identity">;

export type PlaceOf = (link: ExportedLink) => WalkPlace | MovedPlace;

export async function* linksOfAll(
  services: Graph,
  workspace: WorkspaceId,
  all: readonly WalkedProfile[],
  placeOf: PlaceOf,
): AsyncGenerator<readonly LinkRecord[], void> {
  const linked = all.filter(({ size }) => size > 1);
  for (let next = 0; next < linked.length; next += PROFILES_AT_ONCE)
    yield* linksOfSome(services, workspace, linked.slice(next, next + PROFILES_AT_ONCE), placeOf);
  // Between two parts an export waits for its turn, and ends if nobody takes it any more: also where there is nothing to write.
  yield [];
}

/** The first links of several profiles together, then what is left of large ones. */
async function* linksOfSome(
  services: Graph,
  workspace: WorkspaceId,
  some: readonly WalkedProfile[],
  placeOf: PlaceOf,
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
      part.push(...recordsOf(profileId, page, placeOf));
      continue;
    }
    yield part;
    part = [];
    yield* linksOf(services, workspace, profileId, null, placeOf);
  }
  yield part;
}
const SMALL_MAX = 20;

export async function* linksOf(
  services: Graph,
  workspace: WorkspaceId,
  profileId: ProfileId,
  after: { readonly from: Uid; readonly to: Uid } | null,
  placeOf: PlaceOf,
): AsyncGenerator<readonly LinkRecord[], void> {
  for (let last = after; ;) {
    const found = await readLinks(services, workspace, profileId, last);
    yield recordsOf(profileId, found, placeOf);
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

const recordsOf = (profileId: ProfileId, links: readonly ListedLink[], placeOf: PlaceOf): readonly LinkRecord[] =>
  links.map((one) => {
    const link = { ...one, profileId };
    return { kind: "link", link, place: placeOf(link) };
  });
