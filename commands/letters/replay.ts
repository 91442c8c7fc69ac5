import { AppError, type ErrorItem } from "../../core/errors.js";
import type { EventRecord } from "../../core/event/event.js";
import { decodeMessage, encodeMessage } from "../../core/event/message.js";
import type { Origin, Verdict } from "../../core/event/notes.js";
import { parseTimestamp } from "../../core/event/time.js";
import type { DeadLetterId, EventId, WorkspaceId } from "../../core/ids.js";
import { parseJson } from "../../core/json/read.js";
import type { DeadLetter, Replay } from "../../core/ports/event-store.js";
import type { SdkItem, SdkType } from "../../core/sdk/item.js";
import { KEY_MEMBER } from "../acceptance/submission.js";
import { judgeEvent } from "../acceptance/judge.js";
import { openSubmission, readEnvelope } from "../acceptance/submission.js";
import { createSides } from "../sdk/accept-items.js";
import { errorsOfItem, judgeItem, type ItemServices } from "../sdk/judge-item.js";
import type { Caller, Services } from "../services.js";

type ReplayServices = ItemServices & Pick<Services, "events" | "queue">;

export interface ReplayResult {
  readonly deadLetterId: DeadLetterId;
  readonly outcome: Exclude<Replay["outcome"], "died_again"> | "not_found";
  readonly eventId: EventId | null;
  /** Why it was refused again. */
  readonly errors: readonly ErrorItem[];
}

/** What is to be done with one letter. */
interface Step {
  readonly letter: DeadLetter;
  readonly outcome: "accepted" | "refused" | "queued";
  readonly message: Buffer | null;
  readonly errors: readonly ErrorItem[];
}

/**
 * Judges again what was never an event, by the schema of now, as its key had sent it then; queues again what died as an event. Answers once
 * all of it is durable. To replay twice does no harm: the event's id makes it one event.
 */
export async function replayLetters(
  services: ReplayServices,
  { workspace, now }: Pick<Caller, "workspace" | "now">,
  ids: readonly DeadLetterId[],
): Promise<readonly ReplayResult[]> {
  const steps = new Map<DeadLetterId, Step>();
  for (const id of new Set(ids)) {
    const letter = await services.events.findDeadLetter(workspace, id);
    if (letter !== null) steps.set(id, await stepOf(services, workspace, letter));
  }
  await take(services, workspace, [...steps.values()], now);
  return ids.map((deadLetterId): ReplayResult => {
    const step = steps.get(deadLetterId);
    if (step === undefined) return { deadLetterId, outcome: "not_found", eventId: null, errors: [] };
    return { deadLetterId, outcome: step.outcome, eventId: step.letter.eventId, errors: step.errors };
  });
}

async function take(
  { events, queue }: Pick<ReplayServices, "events" | "queue">,
  workspace: WorkspaceId,
  steps: readonly Step[],
  at: number,
): Promise<void> {
  const note = ({ letter, outcome }: Step) => events.noteReplay(workspace, letter.deadLetterId, { at, outcome });
  const queued = steps.filter(({ outcome }) => outcome === "queued");
  // Before they are queued: one that dies again at once must find the note.
  for (const step of queued) await note(step);
  try {
    await queue.publishAll(steps.flatMap(({ message }) => message ?? []));
  } catch (error) {
    for (const { letter } of queued)
      await events.noteReplay(workspace, letter.deadLetterId, letter.replay).catch(() => {});
    throw error;
  }
  for (const step of steps) if (step.outcome !== "queued") await note(step);
}

async function stepOf(services: ReplayServices, workspace: WorkspaceId, letter: DeadLetter): Promise<Step> {
  const decoded = decodeMessage(letter.message);
  if (decoded.kind === "foreign") {
    const message = "is a message that this version of the service does not know";
    return { letter, outcome: "refused", message: null, errors: [{ path: "", message }] };
  }
  const { event } = decoded;
  const verdict = event.notes?.verdict ?? null;
  if (verdict === null) return { letter, outcome: "queued", message: letter.message, errors: [] };
  const judged = await judgeAgain(services, workspace, event, verdict);
  if ("errors" in judged) return { letter, outcome: "refused", message: null, errors: judged.errors };
  return { letter, outcome: "accepted", message: encodeMessage(judged.event), errors: [] };
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
  { type, name, messageId, identifiers, previous }: Extract<Origin, { kind: "item" }>,
): Promise<EventRecord> {
  const known = identifiers.find(({ namespace }) => namespace === "user_id");
  const item: SdkItem = {
    index: 0,
    type: type as SdkType,
    name,
    messageId,
    eventId,
    fingerprint: fingerprint!,
    timestamp,
    instant: parseTimestamp(timestamp)!,
    identifiers,
    alias: previous === null || known === undefined ? null : { previous, known },
    payload: parseJson(payload),
    bytes: payload,
  };
  const sides = await createSides(services, caller, [{ kind: "item", item }]);
  return judgeItem(services, caller, await services.catalog.sdk(caller.workspace), item, sides(item));
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
  return judgeEvent(services, caller, { ...submission, eventId, fingerprint, named: [] });
}
