import { crc32 } from "node:zlib";
import { beginAgain } from "../../commands/erasures/continue.js";
import { findErased } from "../../commands/erasures/forget.js";
import { isUnavailable } from "../../core/errors.js";
import { decodeMessage } from "../../core/event/message.js";
import { isFolding } from "../../core/event/event.js";
import type { ErasureId, Tomb, Uid, WorkspaceId } from "../../core/ids.js";
import type { Identity } from "../../core/identity/api.js";
import type { EventRow } from "../../core/ports/copying.js";
import { isOpen, type DeadLetter, type LetterPosition, type Namings } from "../../core/ports/event-store.js";
import type { Buried, Erasure } from "../../core/identity/erasure.js";
import type { Backends } from "../backends.js";
import { verifyFacet, type GainOf } from "./facets.js";
import type { Findings } from "./findings.js";
import { isQueueEmpty } from "./queue.js";
import { watchRetention } from "./retention.js";
import { forEachRow, forEachWorkspace } from "./rows.js";

export interface VerifyDeps {
  readonly backends: Backends;
  readonly identity: Identity;
  readonly gainOf: GainOf;
  readonly findings: Findings;
  readonly isRepair: boolean;
  readonly now: () => number;
  /** Before anything else was asked. */
  readonly begun: number;
  /** Workspaces with erasures that are not completed: what they have still to remove stands. */
  readonly erasing: ReadonlySet<WorkspaceId>;
  /** Facets that were looked at of late: many events have the same. */
  readonly lookedAt: Set<Uid>;
}

const LOOKED_AT_MAX = 100_000;
/** What is younger than this may be under way, and clocks may differ. */
const YOUNG_MS = 60_000;

/** Events, facets and dead letters, against each other and against the graph. */
export async function verifyDocuments(given: Omit<VerifyDeps, "begun" | "erasing" | "lookedAt">): Promise<void> {
  const { backends } = given;
  const lookedAt = new Set<Uid>();
  const begun = given.now();
  const deps = { ...given, begun, erasing: await erasingWorkspaces(backends), lookedAt };
  const expired = new Set<WorkspaceId>();
  const mayHaveTaken = await watchRetention(backends, given.now);
  const isEmpty = await isQueueEmpty(backends.queue);
  // First: what it deletes is not looked at as if somebody had lost it.
  await verifyErased(deps);
  await forEachRow(backends.copying.documents, "events", async (row) => {
    if (row.gone === "expired") expired.add(row.workspace);
    if (row.gone === null) await verifyEvent(deps, row, isEmpty);
  });
  await verifyLetters(deps, isEmpty);
  // Also where none had expired when the events were walked: the first ones may have gone since.
  const mayHaveExpired = async (workspace: WorkspaceId): Promise<boolean> =>
    expired.has(workspace) || (await mayHaveTaken(workspace));
  await forEachRow(backends.copying.documents, "facets", async ({ workspace, uid }) => {
    if ((await backends.graph.resolve(workspace, uid)) === null) await tellUnknown(deps, workspace, uid, uid);
    else await verifyFacet({ ...deps, mayHaveExpired }, workspace, uid);
  });
}

async function verifyEvent(deps: VerifyDeps, row: EventRow, isEmpty: boolean): Promise<void> {
  const { backends, findings, isRepair, begun } = deps;
  const { workspace, eventId, message, fold, reason } = row;
  const decoded = crc32(message) === row.crc ? decodeMessage(message) : null;
  if (decoded?.kind !== "event" || decoded.event.eventId !== eventId) return findings.found("damaged_events", eventId);
  // Of a facet that stands it is told below.
  const isLookedAt = fold !== null && deps.lookedAt.has(fold.facet);
  if (fold !== null && !isLookedAt && (await backends.graph.resolve(workspace, fold.facet)) === null) {
    const isTold = await tellUnknown(deps, workspace, fold.facet, eventId);
    return isTold || fold.isDone ? undefined : dropBegun(deps, row);
  }
  if (fold?.isDone === true) {
    if (isLookedAt) return;
    const facets = await backends.profiles.find(workspace, [fold.facet]);
    // Another event of it may have come first.
    if (deps.lookedAt.has(fold.facet)) return;
    // Some are looked at twice then, which takes a little time.
    if (deps.lookedAt.size >= LOOKED_AT_MAX) deps.lookedAt.clear();
    deps.lookedAt.add(fold.facet);
    if (facets.size === 0) await verifyFacet({ ...deps, mayHaveExpired: async () => false }, workspace, fold.facet);
    return;
  }
  const folds = isFolding(decoded.event);
  if (reason === null ? !folds : await hasLetter(deps, row)) return;
  // Whether the queue was empty says nothing of one that came later.
  if (row.receivedAt > begun - YOUNG_MS) return;
  if (!isEmpty) return findings.passedOver("events that may still be queued");
  // It becomes dead below, and whoever replays the letter queues it.
  if (reason === null && (await isDying(deps, row))) return;
  const kind = reason === null ? "unfolded_events" : "letterless_events";
  findings.found(kind, eventId);
  if (!isRepair || !folds) return;
  // The fold takes an event once, however often its message comes; one that dies again has a letter.
  await backends.queue.publish(message);
  findings.mended(kind);
}

/** Whether it is told. What an erasure buried is not: all that is folded there is told with the erasure, as `erased_bytes`. */
async function tellUnknown(deps: VerifyDeps, workspace: WorkspaceId, uid: Uid, id: string): Promise<boolean> {
  const { backends, findings, erasing, begun } = deps;
  const { graph } = backends;
  // An erasure since the begin may be over by now, and the row still be of before.
  if (erasing.has(workspace) || (await graph.lastErasedAt(workspace)) > begun - YOUNG_MS)
    findings.passedOver("events and facets of unknown identifiers where an erasure is under way, or was");
  else if (((await graph.previewErasure(workspace, { profileId: uid }))?.erasure ?? null) !== null) return false;
  else findings.found("unknown_facets", id);
  return true;
}

/** Its fold was only begun when it was copied, so the erasure did not find it, and no message of it comes. */
async function dropBegun(
  { backends, findings, isRepair }: VerifyDeps,
  { workspace, eventId }: EventRow,
): Promise<void> {
  findings.found("erased_bytes", eventId);
  if (!isRepair) return;
  await backends.events.drop(workspace, [eventId], "erased");
  findings.mended("erased_bytes");
}

async function erasingWorkspaces({ graph }: Pick<Backends, "graph">): Promise<ReadonlySet<WorkspaceId>> {
  const erasing = new Set<WorkspaceId>();
  for (let after: ErasureId | null = null; ;) {
    const page: readonly Erasure[] = await graph.openErasures({ limit: PER_PAGE, after, isWhole: true });
    for (const { workspace } of page) erasing.add(workspace);
    if (page.length < PER_PAGE) return erasing;
    after = page.at(-1)!.erasureId;
  }
}

async function hasLetter({ backends }: VerifyDeps, { workspace, eventId }: EventRow): Promise<boolean> {
  const page = { limit: 1, before: null, eventId, reason: null };
  return (await backends.events.deadLetters(workspace, page)).length > 0;
}

const LETTERS_PER_READ = 16;

/** Whether a letter that should have killed it is open. */
async function isDying({ backends }: VerifyDeps, { workspace, eventId }: EventRow): Promise<boolean> {
  const asked = { limit: LETTERS_PER_READ, eventId, reason: null, state: "open" } as const;
  for (let before: LetterPosition | null = null; ;) {
    const page: readonly DeadLetter[] = await backends.events.deadLetters(workspace, { ...asked, before });
    if (page.some(kills)) return true;
    if (page.length < LETTERS_PER_READ) return false;
    before = page.at(-1)!;
  }
}

/** Of one that was replayed the event is on its way, or is told as one that is in no profile. */
async function verifyLetters({ backends, findings, isRepair, begun }: VerifyDeps, isEmpty: boolean): Promise<void> {
  await forEachRow(backends.copying.documents, "deadLetters", async ({ letter }) => {
    const { workspace, eventId, deadLetterId } = letter;
    if (!kills(letter) || workspace === null || eventId === null) return;
    const event = await backends.events.find(workspace, eventId).catch((error: unknown) => {
      if (isUnavailable(error)) throw error;
      return null;
    });
    if (event?.status !== "stored" || event.facet !== null) return;
    // It may have been replayed since its row was read.
    const present = await backends.events.findDeadLetter(workspace, deadLetterId);
    if (present === null || !kills(present)) return;
    // A replay is noted only after it was queued. An event that came later than its letter may be queued since the queue was looked at.
    if (!isEmpty || event.receivedAt > begun - YOUNG_MS) return findings.passedOver("events that may still be queued");
    findings.found("unmarked_letters", deadLetterId);
    if (!isRepair) return;
    await backends.events.bury(present);
    findings.mended("unmarked_letters");
  });
}

const kills = (letter: DeadLetter): boolean => letter.killsEvent && isOpen(letter);

const PER_PAGE = 500;

/** What stands of people who were erased, as a store restored from before the erasure has it. */
const verifyErased = (deps: VerifyDeps): Promise<void> =>
  forEachWorkspace(deps.backends, (workspace) => verifyErasedOf(deps, workspace));

async function verifyErasedOf(deps: VerifyDeps, workspace: WorkspaceId): Promise<void> {
  const { graph } = deps.backends;
  for (let before: ErasureId | null = null; ;) {
    const page: readonly Erasure[] = await graph.erasures(workspace, { limit: PER_PAGE, before });
    // One that is not completed is still at work.
    for (const { erasureId, completedAt } of page)
      if (completedAt !== null) await verifyBuried(deps, workspace, erasureId);
    if (page.length < PER_PAGE) return;
    before = page.at(-1)!.erasureId;
  }
}

async function verifyBuried(deps: VerifyDeps, workspace: WorkspaceId, erasureId: ErasureId): Promise<void> {
  const { backends, findings, isRepair } = deps;
  let kept = 0;
  // In front of the first deletion: whoever continues it tells the feed, which may be of before the erasure, too.
  const open = async (found: number): Promise<void> => {
    if (isRepair && found > 0) await beginAgain({ erasures: backends.graph }, workspace, erasureId);
  };
  for (let after: Tomb | null = null; ;) {
    const page: readonly Buried[] = await backends.graph.buried(workspace, erasureId, { limit: PER_PAGE, after });
    const uids = page.flatMap(({ uid }): readonly Uid[] => (uid === null ? [] : [uid]));
    const facets = await backends.profiles.find(workspace, uids);
    for (const uid of facets.keys()) findings.found("erased_bytes", uid);
    await open(facets.size);
    if (isRepair)
      for (let n = await backends.profiles.remove(workspace, [...facets.keys()]); n > 0; n -= 1)
        findings.mended("erased_bytes");
    for (let ids = await backends.events.foldedInto(workspace, uids, PER_PAGE); ids.length > 0;) {
      for (const eventId of ids) findings.found("erased_bytes", eventId);
      if (!isRepair) break;
      await open(ids.length);
      await backends.events.drop(workspace, ids, "erased");
      for (const _ of ids) findings.mended("erased_bytes");
      ids = await backends.events.foldedInto(workspace, uids, PER_PAGE);
    }
    for (let from = 0; from < page.length; from += TOMBS_PER_READ) {
      const tombs = page.slice(from, from + TOMBS_PER_READ).map(({ tomb }) => tomb);
      kept += await countKept(deps, workspace, erasureId, tombs);
    }
    if (page.length < PER_PAGE) break;
    after = page.at(-1)!.tomb;
  }
  if (!isRepair) return;
  // What is kept is deleted by whoever continues it.
  await open(kept);
  for (; kept > 0; kept -= 1) findings.mended("erased_bytes");
}

const TOMBS_PER_READ = 100;
/** Each is read with its payload. */
const NAMED_PER_READ = 32;

/** What no facet leads to, and this erasure refuses: how much of it stands. */
async function countKept(
  { backends, identity, findings }: VerifyDeps,
  workspace: WorkspaceId,
  erasureId: ErasureId,
  tombs: readonly Tomb[],
): Promise<number> {
  const { events, graph: erasures } = backends;
  let count = 0;
  for (let after: string | null = null; ;) {
    const page: Namings = await events.naming(workspace, tombs, { limit: NAMED_PER_READ, after });
    const going = (await findErased({ events, erasures, identity }, workspace, page.found)).get(erasureId);
    for (const id of [...(going?.events ?? []), ...(going?.letters ?? [])]) {
      findings.found("erased_bytes", id);
      count += 1;
    }
    if (page.next === null) return count;
    after = page.next;
  }
}
