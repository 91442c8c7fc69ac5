import { AppError } from "../../core/errors.js";
import type { Identifier } from "../../core/event/event.js";
import { broughtInLine, saidAt, type Erasure } from "../../core/identity/erasure.js";
import { keepLatest } from "../../core/identity/logged-erasure.js";
import type { Member } from "../../core/identity/model.js";
import type { ErasureId, ProfileId, Tomb, Uid, WorkspaceId } from "../../core/ids.js";
import type { Services } from "../services.js";

type TakeOutServices = Pick<Services, "erasures" | "identity" | "now">;
type RestoreServices = TakeOutServices &
  Pick<Services, "erasureLog"> & { readonly catalog: Pick<Services["catalog"], "findWorkspace"> };

/** A store that was restored lacks the newest ones: before so many in a row that it knows, none is looked for. */
const KNOWN_MAX = 10_000;
const ERASURES_PER_READ = 500;
const BURIED_PER_WRITE = 1_000;
const MEMBERS_PER_READ = 500;
const UIDS_PER_READ = 1_000;
/** One undo has the time of a request and a share of the memory for profiles: each link takes some. */
const LINKS_PER_CUT = 20_000;
/** One look cuts off and the next takes out all that it meets; another start can be ahead of some of them. */
const LOOKS_MAX = 100;
/** So many identifiers are held at once, or those of one erasure. */
const HELD_MAX = 100_000;
/** A record takes as much memory as some identifiers. */
const RECORD_HELD = 5;
/** So many are done again when a supervisor ends a start that takes long. */
const PORTION_MAX = 500;

/**
 * Runs the erasures again that the stores do not know, because they were restored from a backup that is older. Answers how many. Whoever
 * was erased is gone once it resolves; what is stored of them, the keeper removes. It may end at any point and begin anew.
 */
export async function restoreErasures(services: RestoreServices, knownMax = KNOWN_MAX): Promise<number> {
  const { newest, records: first } = await newestOf(services, knownMax);
  /** Of how many identifiers each is. */
  const [lacking, behind] = [new Map<ErasureId, number>(), new Map<ErasureId, number>()];
  const isHere = createIsHere(services);
  let knownInARow = 0;
  // A log may be long, and a process small: so many records are held at once, and of the others the ids.
  for (let from = 0; from < newest.length && knownInARow < knownMax; from += knownMax) {
    const records = from === 0 ? first : await latestOf(services, newest.slice(from, from + knownMax));
    const standing = await standingOf(services, [...records.values()]);
    for (const [erasureId, erasure] of records) {
      const known = standing.get(erasureId);
      // A workspace that the backup does not have is shown to nobody, and no keeper would complete its erasures.
      if (known === undefined && !(await isHere(erasure.workspace))) continue;
      knownInARow = known === undefined ? 0 : knownInARow + 1;
      const count = [...erasure.identifiers.values()].reduce((sum, one) => sum + one, 0);
      if (known === undefined) lacking.set(erasureId, count);
      // Whoever readmitted may have died before the log had it: then the store knows better.
      else if (broughtInLine(known, erasure) !== null) behind.set(erasureId, count);
      if (knownInARow === knownMax) break;
    }
  }
  for (const some of groupsOf([...behind])) await bringInLine(services, some);
  // Oldest first: the next start finds those that are not done in front of those that are.
  for (const some of groupsOf([...lacking].toReversed())) await restoreGroup(services, some);
  return lacking.size;
}

/** Asks once for each: at every start, all erasures of a workspace that is not there are met again. */
function createIsHere({ catalog }: RestoreServices): (workspace: WorkspaceId) => Promise<boolean> {
  const known = new Map<WorkspaceId, boolean>();
  return async (workspace) => {
    const isHere = known.get(workspace) ?? (await catalog.findWorkspace(workspace)) !== null;
    known.set(workspace, isHere);
    return isHere;
  };
}

interface Newest {
  /** All that the log has, the one last said of first. */
  readonly newest: readonly ErasureId[];
  /** The first of them, in this order: most starts need no others. */
  readonly records: ReadonlyMap<ErasureId, Erasure>;
}

async function newestOf({ erasureLog }: RestoreServices, recordsMax: number): Promise<Newest> {
  const said = new Map<ErasureId, number>();
  const records = new Map<ErasureId, Erasure>();
  for await (const { erasure } of erasureLog.entries()) {
    const { erasureId } = erasure;
    if ((said.get(erasureId) ?? -Infinity) > saidAt(erasure)) continue;
    said.delete(erasureId);
    said.set(erasureId, saidAt(erasure));
    keepLatest(records, erasure);
    if (records.size > recordsMax) records.delete(records.keys().next().value!);
  }
  return { newest: [...said.keys()].toReversed(), records: new Map([...records].toReversed()) };
}

/** Their records, in this order. */
async function latestOf(
  { erasureLog }: RestoreServices,
  ids: readonly ErasureId[],
): Promise<ReadonlyMap<ErasureId, Erasure>> {
  const asked = new Set(ids);
  const found = new Map<ErasureId, Erasure>();
  for await (const { erasure } of erasureLog.entries()) if (asked.has(erasure.erasureId)) keepLatest(found, erasure);
  return new Map(ids.map((id) => [id, found.get(id)!]));
}

/** The log is read once for all of them. */
async function restoreGroup(services: RestoreServices, ids: readonly ErasureId[]): Promise<void> {
  const logged = await loggedOf(services, ids);
  for (let from = 0; from < ids.length; from += PORTION_MAX)
    await restoreSome(
      services,
      ids.slice(from, from + PORTION_MAX).map((id) => logged.get(id)!),
    );
}

async function restoreSome(services: RestoreServices, some: readonly Logged[]): Promise<void> {
  for (const { record, buried } of some) {
    // A profile can only be known as a whole by all of its lines.
    const uids = new Set([...buried.values()].flatMap((uid) => uid ?? []));
    await takeOut(services, record, uids);
  }
  for (const one of some) await write(services, one);
}

/** What it buried comes with a record of a millisecond before, and the record itself last: until then a start takes it for behind. */
async function write({ erasures }: RestoreServices, { record, buried }: Logged): Promise<void> {
  const { workspace, erasedAt, readmittedAt } = record;
  const before = { erasedAt: erasedAt - 1, readmittedAt: readmittedAt === null ? null : readmittedAt - 1 };
  const unfinished = { ...record, ...before };
  const all = [...buried].map(([tomb, uid]) => ({ tomb, uid }));
  let from = 0;
  for (; from + BURIED_PER_WRITE < all.length; from += BURIED_PER_WRITE)
    await erasures.restoreErasure(workspace, unfinished, all.slice(from, from + BURIED_PER_WRITE));
  await erasures.restoreErasure(workspace, record, all.slice(from));
}

interface Logged {
  /** As it was said last. */
  readonly record: Erasure;
  /** Of all its lines, which may repeat each other. */
  readonly buried: Map<Tomb, Uid | null>;
}

async function loggedOf(
  { erasureLog }: RestoreServices,
  ids: readonly ErasureId[],
): Promise<ReadonlyMap<ErasureId, Logged>> {
  const records = new Map<ErasureId, Erasure>();
  const buriedBy = new Map(ids.map((id) => [id, new Map<Tomb, Uid | null>()]));
  for await (const { erasure, buried } of erasureLog.entries()) {
    const own = buriedBy.get(erasure.erasureId);
    if (own === undefined) continue;
    keepLatest(records, erasure);
    for (const { tomb, uid } of buried) own.set(tomb, uid ?? own.get(tomb) ?? null);
  }
  return new Map(ids.map((id) => [id, { record: records.get(id)!, buried: buriedBy.get(id)! }]));
}

/** The records as they stand in the store. A start waits for them, and most stores lack none: each by itself would take half a minute. */
async function standingOf(
  { erasures }: TakeOutServices,
  records: readonly Erasure[],
): Promise<ReadonlyMap<ErasureId, Erasure>> {
  const standing = new Map<ErasureId, Erasure>();
  for (const [workspace, ids] of idsByWorkspace(records))
    for (let at = 0; at < ids.length; at += ERASURES_PER_READ)
      for (const one of await erasures.findErasures(workspace, ids.slice(at, at + ERASURES_PER_READ)))
        standing.set(one.erasureId, one);
  return standing;
}

function idsByWorkspace(records: readonly Erasure[]): ReadonlyMap<WorkspaceId, readonly ErasureId[]> {
  const ids = new Map<WorkspaceId, ErasureId[]>();
  for (const { workspace, erasureId } of records) {
    const own = ids.get(workspace) ?? [];
    own.push(erasureId);
    ids.set(workspace, own);
  }
  return ids;
}

/** In their order, each as large as may be held at once; with the number of their identifiers. */
function* groupsOf(all: readonly (readonly [ErasureId, number])[]): Generator<readonly ErasureId[]> {
  let [group, held]: [ErasureId[], number] = [[], 0];
  for (const [erasureId, count] of all) {
    if (group.length > 0 && held + count > HELD_MAX) {
      yield group;
      [group, held] = [[], 0];
    }
    group.push(erasureId);
    // Its record is held, too.
    held += count + RECORD_HELD;
  }
  if (group.length > 0) yield group;
}

/** Those that stand as they were before their last line, or whose restore was cut off. On servers, others may have changed them meanwhile. */
async function bringInLine(services: RestoreServices, ids: readonly ErasureId[]): Promise<void> {
  for (const one of (await loggedOf(services, ids)).values()) await write(services, one);
}

/** Erases those that are in a profile again. A profile may hold others beside them: those stay. */
export async function takeOut(services: TakeOutServices, erasure: Erasure, uids: ReadonlySet<Uid>): Promise<void> {
  const all = [...uids];
  for (let from = 0; from < all.length; from += UIDS_PER_READ)
    await takeOutSome(services, erasure, all.slice(from, from + UIDS_PER_READ), uids);
}

/** Looks again until nobody is left: where another start takes the same profile apart, its id may be of nobody between two reads. */
async function takeOutSome(
  services: TakeOutServices,
  erasure: Erasure,
  some: readonly Uid[],
  uids: ReadonlySet<Uid>,
): Promise<void> {
  const { workspace, erasureId } = erasure;
  for (let look = 0; look < LOOKS_MAX; look += 1) {
    const living = await services.erasures.livingUids(workspace, some);
    if (living.size === 0) return;
    const gone = new Set<Uid>();
    for (const uid of living) {
      const ref = gone.has(uid) ? null : await services.identity.resolve(workspace, uid);
      if (ref === null) continue;
      const members = await membersOf(services, workspace, ref.profileId, uids);
      for (const { uid } of members.own) gone.add(uid);
      if (members.own.length > 0) await eraseMembers(services, erasure, ref.profileId, members, uids);
    }
  }
  throw new Error(`identifiers of the erasure ${erasureId} are still in profiles after ${LOOKS_MAX} looks`);
}

/** Only links to others are cut, so that what is left of the person goes whole at a later look, with one receipt for each part. */
async function eraseMembers(
  services: TakeOutServices,
  erasure: Erasure,
  profileId: ProfileId,
  { own, isWhole }: Members,
  uids: ReadonlySet<Uid>,
): Promise<void> {
  const { workspace, keyId, erasedAt } = erasure;
  const { identifier } = own[0]!;
  if (!isWhole && (await isCutOff(services, erasure, identifier, uids))) return;
  // The record itself, which is written last, suppresses them: so that its `readmit` alone ends it, as it did before.
  const request = { keyId, suppress: false, revision: null, now: () => erasedAt };
  // Where there was nothing to cut, another start may have done it: then the id may be that of the others.
  const target = isWhole ? { profileId } : { identifiers: [identifier] };
  await services.erasures.erase(workspace, { ...request, target });
}

async function isCutOff(
  { identity, now }: TakeOutServices,
  { workspace, keyId }: Erasure,
  within: Identifier,
  uids: ReadonlySet<Uid>,
): Promise<boolean> {
  try {
    const evidence = { source: "unlink", keyId, at: now(workspace) } as const;
    const asked = { uids, within, linksMax: LINKS_PER_CUT };
    const { outcome } = await identity.unlink(workspace, asked, evidence);
    return outcome === "unlinked";
  } catch (error) {
    // Several workers start at once: another one has erased it.
    if (error instanceof AppError && error.code === "not_found") return true;
    throw error;
  }
}

interface Members {
  readonly own: readonly Pick<Member, "uid" | "identifier">[];
  readonly isWhole: boolean;
}

async function membersOf(
  { identity }: TakeOutServices,
  workspace: WorkspaceId,
  profileId: ProfileId,
  uids: ReadonlySet<Uid>,
): Promise<Members> {
  const own: Pick<Member, "uid" | "identifier">[] = [];
  let isWhole = true;
  for (let after: Uid | null = null; ;) {
    const page = await identity.members(workspace, profileId, { limit: MEMBERS_PER_READ, after });
    for (const { uid, identifier } of page) {
      if (uids.has(uid)) own.push({ uid, identifier });
      else isWhole = false;
    }
    if (page.length < MEMBERS_PER_READ) return { own, isWhole };
    after = page.at(-1)!.uid;
  }
}
