import type { Namespace } from "../../core/catalog/catalog.js";
import { registerNamespaces } from "../../core/identity/register-namespaces.js";
import { AppError, type ErrorItem } from "../../core/errors.js";
import { createPause } from "../../core/event-loop.js";
import type { DropReason, EventRecord } from "../../core/event/event.js";
import { asReplay, decodeMessage, encodeMessage } from "../../core/event/message.js";
import type { Origin, Verdict } from "../../core/event/notes.js";
import { parseTimestamp } from "../../core/event/time.js";
import type { DeadLetterId, EventId, WorkspaceId } from "../../core/ids.js";
import { parseJson } from "../../core/json/read.js";
import type { DeadLetter, LetterPosition } from "../../core/ports/event-store.js";
import { identifiersOf } from "../../core/sdk/identifiers.js";
import type { SdkItem, SdkType } from "../../core/sdk/item.js";
import { judgeEvent } from "../acceptance/judge.js";
import { publishInParts } from "../acceptance/publish-in-parts.js";
import { KEY_MEMBER, openSubmission, readEnvelope } from "../acceptance/submission.js";
import { createSides } from "../sdk/accept-items.js";
import { errorsOfItem, judgeItem, type ItemServices } from "../sdk/judge-item.js";
import { withoutErasedLetters, type HidingServices } from "../erasures/hidden.js";
import type { Caller, Limits, Services, TakeBytes } from "../services.js";
import { lettersAtOnce, storedOf } from "./read.js";

type ReplayServices = ItemServices & HidingServices & Pick<Services, "queue">;

export interface ReplaySelection {
  /** Null: all that are open, oldest first. */
  readonly deadLetterIds: readonly DeadLetterId[] | null;
  readonly reason: string | null;
  /** Buried before, milliseconds since 1970. */
  readonly before: number | null;
  readonly after: LetterPosition | null;
}

/**
 * `erased`, `expired`: its event is dropped. `refused`: it is still no event. `idempotency_mismatch`: its id is another event's.
 * `unreadable`: a message that this build does not know. `damaged`: its stored event cannot be read. `not_found`: none of the selection
 * has this id.
 */
export const SKIP_REASONS = [
  "not_found",
  "idempotency_mismatch",
  "erased",
  "expired",
  "refused",
  "unreadable",
  "damaged",
] as const;

export interface Skipped {
  readonly deadLetterId: DeadLetterId;
  readonly why: (typeof SKIP_REASONS)[number];
  /** Of one that was refused again. */
  readonly errors: readonly ErrorItem[];
}

export interface ReplayAnswer {
  readonly replayed: number;
  readonly skipped: readonly Skipped[];
  /** Open letters of the selection that it did not come to; at most `REMAINING_MAX`. */
  readonly remaining: number;
  /** Where to go on; null at the end. */
  readonly last: LetterPosition | null;
}

/** More are not counted: it takes time, and each further call of a replay counts again. */
export const REMAINING_MAX = 10_000;
/** Looked at in one call. */
export const LETTERS_MAX = 1_000;
/** Once a call takes longer, it leaves further ones to the next. */
const CALL_MS_MAX = 10_000;
/** What a replay holds at a time: letters, what they are judged to be, and what of that is queued. */
const portionBytesMax = (limits: Limits): number => 3 * lettersAtOnce(limits) * limits.payloadBytesMax;

type Step = { readonly letter: DeadLetter } & ({ readonly message: Buffer } | Omit<Skipped, "deadLetterId">);

/** `giveBack`: the next portion takes them anew. */
type Bytes = { readonly takeBytes: TakeBytes; readonly giveBack: () => void };

/**
 * Queues dead letters again: as they came those that died as events, and judged by the schema of now what never was one. Each is queued
 * with the number of its replay, and then noted: whatever crashes, it is open if and only if it died again. To replay twice does no harm:
 * the event's id makes it one event. A dry run judges too, and writes nothing. Rejects with `unavailable` when the queue is full; what was noted stands.
 * Each portion takes its bytes in turn with the other reads of the workspace. Where a later one has no room, or nobody waits for the answer
 * any more, it ends: of all open ones with what remains, of named ones it rejects.
 */
export async function replayLetters(
  services: ReplayServices,
  { workspace, now }: Pick<Caller, "workspace" | "now">,
  selection: ReplaySelection,
  { dryRun, ...bytes }: Bytes & { readonly dryRun: boolean },
): Promise<ReplayAnswer> {
  const judging = dryRun ? writingNothing(services) : services;
  const pause = createPause();
  const sent: Sent = new Map();
  const skipped: Skipped[] = [];
  let replayed = 0;
  let last: LetterPosition | null = null;
  for await (const { letters, unknown, end } of portionsOf(services, workspace, selection, bytes)) {
    for (const deadLetterId of unknown) skipped.push({ deadLetterId, why: "not_found", errors: [] });
    const steps: Step[] = [];
    const shown = new Set(await withoutErasedLetters(services, workspace, letters));
    for (const letter of letters) {
      steps.push(
        shown.has(letter) ? await stepOf(judging, workspace, letter, sent) : { letter, why: "erased", errors: [] },
      );
      // The embedded store answers at once, and all of them in one turn of the event loop would hold up everybody.
      await pause();
    }
    if (!dryRun) await take(services, workspace, steps, now);
    for (const step of steps) {
      if ("message" in step) replayed += 1;
      else skipped.push({ deadLetterId: step.letter.deadLetterId, why: step.why, errors: step.errors });
    }
    last = end;
  }
  const remaining =
    last === null
      ? 0
      : await services.events.countOpenLetters(workspace, { ...selection, after: last, max: REMAINING_MAX });
  return { replayed, skipped, remaining, last: remaining === 0 ? null : last };
}

interface Portion {
  readonly letters: readonly DeadLetter[];
  readonly unknown: readonly DeadLetterId[];
  /** Where the open ones go on. */
  readonly end: LetterPosition | null;
}

async function* portionsOf(
  { events, limits }: Pick<ReplayServices, "events" | "limits">,
  workspace: WorkspaceId,
  { deadLetterIds, after, ...filter }: ReplaySelection,
  { takeBytes, giveBack }: Bytes,
): AsyncGenerator<Portion, void, undefined> {
  const portion = lettersAtOnce(limits);
  const isSought = (letter: DeadLetter): boolean =>
    (filter.reason === null || letter.reason === filter.reason) &&
    (filter.before === null || letter.at < filter.before);
  if (deadLetterIds !== null) {
    const ids = [...new Set(deadLetterIds)];
    for (let next = 0; next < ids.length; next += portion) {
      const some = ids.slice(next, next + portion);
      await takeBytes(portionBytesMax(limits));
      try {
        const found = await Promise.all(some.map((id) => events.findDeadLetter(workspace, id)));
        const letters = found.filter((letter) => letter !== null && isSought(letter)) as readonly DeadLetter[];
        const sought = new Set(letters.map(({ deadLetterId }) => deadLetterId));
        yield { letters, unknown: some.filter((id) => !sought.has(id)), end: null };
      } finally {
        giveBack();
      }
    }
    return;
  }
  const endsAt = performance.now() + CALL_MS_MAX;
  let end = after;
  for (let left = LETTERS_MAX; left > 0; left -= portion) {
    const limit = Math.min(portion, left);
    const isFirst = left === LETTERS_MAX;
    if (!isFirst && performance.now() >= endsAt) return;
    try {
      await takeBytes(portionBytesMax(limits));
    } catch (error) {
      if (isFirst) throw error;
      return;
    }
    try {
      const letters = await events.openLetters(workspace, { ...filter, after: end, limit });
      if (letters.length === 0) return;
      const { at, deadLetterId } = letters.at(-1)!;
      end = { at, deadLetterId };
      yield { letters, unknown: [], end };
      if (letters.length < limit) return;
    } finally {
      giveBack();
    }
  }
}

async function take(
  { events, queue }: Pick<ReplayServices, "events" | "queue">,
  workspace: WorkspaceId,
  steps: readonly Step[],
  at: number,
): Promise<void> {
  const queued = steps.flatMap((step) => ("message" in step ? [step] : []));
  if (queued.length === 0) return;
  await publishInParts(
    queue,
    queued.map(({ letter, message }) => asReplay(message, letter.times)),
  );
  await Promise.all(queued.map(({ letter }) => events.noteReplay(workspace, letter.deadLetterId, letter.times, at)));
}

/** The fingerprints of what this replay queues, which is not stored yet. */
type Sent = Map<EventId, EventRecord["fingerprint"]>;

async function stepOf(services: ReplayServices, workspace: WorkspaceId, letter: DeadLetter, sent: Sent): Promise<Step> {
  const skip = (why: Skipped["why"], errors: readonly ErrorItem[] = []): Step => ({ letter, why, errors });
  if (letter.reason === "idempotency_mismatch") return skip("idempotency_mismatch");
  const decoded = decodeMessage(letter.message);
  if (decoded.kind === "foreign") return skip("unreadable");
  const { event } = decoded;
  const stored = await storedOf(services, workspace, event.eventId);
  // The others would never have their turn if it ended the call.
  if (stored === "damaged") return skip("damaged");
  if (stored?.status === "dropped") return skip(stored.reason as DropReason);
  const verdict = event.notes?.verdict ?? null;
  if (verdict === null) return { letter, message: letter.message };
  // It would only die of that: another body of its sender's is stored under its id, or queued by this replay.
  const first = stored === null ? sent.get(event.eventId) : stored.fingerprint;
  if (first !== undefined && first !== event.fingerprint) return skip("idempotency_mismatch");
  const judged = await judgeAgain(services, workspace, event, verdict);
  if ("errors" in judged) return skip("refused", judged.errors);
  sent.set(event.eventId, event.fingerprint);
  return { letter, message: encodeMessage(judged.event) };
}

/** What judging makes known is kept to itself, and counts for what is judged after it. */
function writingNothing(services: ReplayServices): ReplayServices {
  const { catalog } = services;
  let made: readonly Namespace[] = [];
  return {
    ...services,
    catalog: {
      ...catalog,
      registerNamespaces: async (workspace, namespaces, max) => {
        const added = registerNamespaces([...(await catalog.namespaces(workspace)), ...made], namespaces, max);
        made = [...made, ...(added ?? [])];
        return added !== null;
      },
      // None of them decides whether something is an event.
      registerTraits: async () => [],
    },
  };
}

type Judged = { readonly event: EventRecord } | { readonly errors: readonly ErrorItem[] };

async function judgeAgain(
  services: ReplayServices,
  workspace: WorkspaceId,
  event: EventRecord,
  { origin, send, errors }: Verdict,
): Promise<Judged> {
  const { keyId, receivedAt } = event;
  // Its event id stands, so nothing is made of the sender.
  const caller: Caller = { workspace, keyId, sender: keyId, send, now: receivedAt };
  // No schema makes an event of it.
  if (origin.kind === "unfit") return { errors };
  try {
    const again =
      origin.kind === "item"
        ? judgeItemAgain(services, caller, event, origin)
        : judgeBody(services, caller, event, origin.kind);
    return { event: await again };
  } catch (error) {
    if (error instanceof AppError && error.errors !== undefined) return { errors: error.errors };
    return { errors: errorsOfItem(error) };
  }
}

async function judgeItemAgain(
  services: ReplayServices,
  caller: Caller,
  { eventId, fingerprint, timestamp, payload }: EventRecord,
  { type: said, name, messageId, identifiers: then, previous }: Extract<Origin, { kind: "item" }>,
): Promise<EventRecord> {
  const sdk = await services.catalog.sdk(caller.workspace);
  const type = said as SdkType;
  const value = parseJson(payload);
  // The payload is without these; all others are found in it anew, by the switches of now.
  const valueAt = (place: string): string | null => then.find(({ path }) => path === place)?.value ?? null;
  const ids = { userId: valueAt("userId"), anonymousId: valueAt("anonymousId") };
  const identifiers = identifiersOf(value as object, type, ids, sdk.settings);
  const known = { namespace: "user_id", value: ids.userId ?? "" };
  const item: SdkItem = {
    index: 0,
    type,
    name,
    messageId,
    eventId,
    fingerprint: fingerprint!,
    timestamp,
    instant: parseTimestamp(timestamp)!,
    identifiers,
    alias: previous === null || ids.userId === null ? null : { previous, known },
    payload: value,
    bytes: payload,
  };
  const sides = await createSides(services, caller, [{ kind: "item", item }]);
  return judgeItem(services, caller, sdk, item, sides(item));
}

/** The body of a `collect`: what it refused then it may accept now. */
async function judgeBody(
  services: ReplayServices,
  caller: Caller,
  { eventId, fingerprint, payload: body }: EventRecord,
  door: "collect" | "batch",
): Promise<EventRecord> {
  const opened = openSubmission(services.limits, body, true);
  const { errors, submission } =
    door === "batch" ? readEnvelope(opened, caller.now, KEY_MEMBER) : readEnvelope(opened, caller.now);
  if (submission === null) throw new AppError("validation_failed", "The body does not match.", { errors });
  const event = await judgeEvent(services, caller, { ...submission, eventId, fingerprint, named: [] });
  // If its sender's other body comes first, this one needs no further letter: it stands in its own.
  return { ...event, notes: { violations: [], unfolded: [], verdict: null, ...event.notes, countsMismatch: true } };
}
