import { renewed, saidAt, type Erasure } from "../../core/identity/erasure.js";
import { keepLatest } from "../../core/identity/logged-erasure.js";
import type { Member } from "../../core/identity/model.js";
import type { ErasureId, ProfileId, Uid, WorkspaceId } from "../../core/ids.js";
import type { Services } from "../services.js";

type TakeOutServices = Pick<Services, "erasures" | "identity" | "now">;
type RestoreServices = TakeOutServices &
  Pick<Services, "erasureLog"> & { readonly catalog: Pick<Services["catalog"], "findWorkspace"> };

/** A store that was restored lacks the newest ones: before so many in a row that it knows, none is looked for. */
const KNOWN_MAX = 10_000;
const ERASURES_PER_READ = 500;
const MEMBERS_PER_READ = 500;
const UIDS_PER_READ = 1_000;
/** The uids of so many identifiers are held at once, or those of one erasure. */
const HELD_MAX = 100_000;
/** So many are done again when a supervisor ends a start that takes long. */
const PORTION_MAX = 500;

/**
 * Runs the erasures again that the stores do not know, because they were restored from a backup that is older. Answers how many. Whoever
 * was erased is gone once it resolves; what is stored of them, the keeper removes. It may end at any point and begin anew.
 */
export async function restoreErasures(services: RestoreServices, knownMax = KNOWN_MAX): Promise<number> {
  const logged = new Map<ErasureId, Erasure>();
  for await (const { erasure } of services.erasureLog.entries()) {
    keepLatest(logged, erasure);
  }
  const lacking = new Map<ErasureId, Erasure>();
  const behind = new Map<ErasureId, Erasure>();
  let knownInARow = 0;
  for await (const [erasure, known] of besideStanding(services, [...logged.values()].toReversed(), knownMax)) {
    knownInARow = known === null ? 0 : knownInARow + 1;
    if (known === null) {
      // A workspace that the backup does not have is shown to nobody, and no keeper would complete its erasures.
      if ((await services.catalog.findWorkspace(erasure.workspace)) !== null) lacking.set(erasure.erasureId, erasure);
      continue;
    }
    // Whoever readmitted may have died before the log had it: then the store knows better.
    if (saidAt(erasure) >= saidAt(known) && renewed(known, erasure) !== null) behind.set(erasure.erasureId, erasure);
    if (knownInARow === knownMax) break;
  }
  if (behind.size > 0) await bringInLine(services, behind);
  if (lacking.size === 0) return 0;
  // Oldest first: the next start finds those that are not done in front of those that are.
  for (const some of portionsOf([...lacking.values()].toReversed())) await restoreSome(services, some);
  return lacking.size;
}

async function restoreSome(services: RestoreServices, some: readonly Erasure[]): Promise<void> {
  const uids = await uidsOf(services, some);
  for (const record of some) await takeOut(services, record, uids.get(record.erasureId)!);
  const records = new Map(some.map((record) => [record.erasureId, record]));
  // Last: as long as it is not there, the portion is done again.
  for await (const { erasure, buried } of services.erasureLog.entries()) {
    const record = records.get(erasure.erasureId);
    if (record !== undefined) await services.erasures.restoreErasure(record.workspace, record, buried);
  }
}

/** In their order, each with the record as it stands in the store; so many are read ahead. */
async function* besideStanding({ erasures }: TakeOutServices, logged: readonly Erasure[], ahead: number) {
  for (let from = 0; from < logged.length; from += ahead) {
    const portion = logged.slice(from, from + ahead);
    const standing = new Map<ErasureId, Erasure>();
    // A start waits for it, and most stores lack none of them: each by itself would take half a minute.
    for (const [workspace, ids] of idsByWorkspace(portion))
      for (let at = 0; at < ids.length; at += ERASURES_PER_READ)
        for (const one of await erasures.findErasures(workspace, ids.slice(at, at + ERASURES_PER_READ)))
          standing.set(one.erasureId, one);
    for (const erasure of portion) yield [erasure, standing.get(erasure.erasureId) ?? null] as const;
  }
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

/** In their order, each as large as may be held at once. */
function* portionsOf(records: readonly Erasure[]): Generator<readonly Erasure[]> {
  let [portion, held]: [Erasure[], number] = [[], 0];
  for (const record of records) {
    const count = [...record.identifiers.values()].reduce((sum, one) => sum + one, 0);
    if (portion.length === PORTION_MAX || (portion.length > 0 && held + count > HELD_MAX)) {
      yield portion;
      [portion, held] = [[], 0];
    }
    portion.push(record);
    held += count;
  }
  if (portion.length > 0) yield portion;
}

/** All that each of them buried: a profile can only be known as a whole by all of its lines. */
async function uidsOf(
  { erasureLog }: RestoreServices,
  records: readonly Erasure[],
): Promise<ReadonlyMap<ErasureId, ReadonlySet<Uid>>> {
  const found = new Map(records.map(({ erasureId }) => [erasureId, new Set<Uid>()]));
  for await (const { erasure, buried } of erasureLog.entries())
    for (const { uid } of buried) if (uid !== null) found.get(erasure.erasureId)?.add(uid);
  return found;
}

/** Those that stand as they were before their last line. The log is read again: on servers, others may have changed them meanwhile. */
async function bringInLine({ erasures, erasureLog }: RestoreServices, behind: Map<ErasureId, Erasure>): Promise<void> {
  for await (const { erasure } of erasureLog.entries()) if (behind.has(erasure.erasureId)) keepLatest(behind, erasure);
  for (const erasure of behind.values()) await erasures.restoreErasure(erasure.workspace, erasure, []);
}

/** Erases those that are in a profile again. A profile may hold others beside them: those stay. */
export async function takeOut(services: TakeOutServices, erasure: Erasure, uids: ReadonlySet<Uid>): Promise<void> {
  const { workspace } = erasure;
  const all = [...uids];
  const gone = new Set<Uid>();
  for (let from = 0; from < all.length; from += UIDS_PER_READ)
    for (const uid of await services.erasures.livingUids(workspace, all.slice(from, from + UIDS_PER_READ))) {
      const ref = gone.has(uid) ? null : await services.identity.resolve(workspace, uid);
      if (ref === null) continue;
      const members = await membersOf(services, workspace, ref.profileId, uids);
      for (const { uid } of members.own) gone.add(uid);
      await eraseMembers(services, erasure, ref.profileId, members);
    }
}

async function eraseMembers(
  services: TakeOutServices,
  { workspace, keyId, erasedAt }: Erasure,
  profileId: ProfileId,
  { own, isWhole }: Members,
): Promise<void> {
  // The record itself, which is written last, suppresses them: so that its `readmit` alone ends it, as it did before.
  const request = { keyId, suppress: false, revision: null, now: () => erasedAt };
  if (isWhole) {
    await services.erasures.erase(workspace, { ...request, target: { profileId } });
    return;
  }
  for (const { identifier } of own) {
    const evidence = { source: "unlink", keyId, at: services.now(workspace) } as const;
    await services.identity.unlink(workspace, { identifier }, evidence);
    await services.erasures.erase(workspace, { ...request, target: { identifiers: [identifier] } });
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
