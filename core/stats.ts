import type { ErrorCode } from "./errors.js";
import type { KeyId, WorkspaceId } from "./ids.js";

/** What became of an event: accepted, quarantined, or the code of its refusal. */
export type EventOutcome = "accepted" | "quarantined" | ErrorCode;

/** Events of one minute that have all this in common. */
export interface StatCount {
  readonly workspace: WorkspaceId;
  /** Whole minutes since 1970. */
  readonly minute: number;
  /** Null: of several keys, because a workspace has only so many counts in a minute. */
  readonly keyId: KeyId | null;
  /** Null: refused before it was known, or of several. */
  readonly schemaId: string | null;
  readonly outcome: EventOutcome;
  readonly events: number;
}

/** Where all gateways of an installation add up what they counted. Each sentence is a law with a contract test. */
export interface StatsStore {
  /** Adds to what is there, exactly, however many add at once. */
  add(counts: readonly StatCount[]): Promise<void>;
  /** The counts of the workspace from that minute on, each combination once a minute, the newest first; of others nothing. */
  read(workspace: WorkspaceId, fromMinute: number): Promise<readonly StatCount[]>;
}

export const MINUTE_MS = 60_000;
export const minuteOf = (ms: number): number => Math.floor(ms / MINUTE_MS);
/** The minutes of an answer, the present one among them. */
export const MINUTES = 60;

export interface Tally {
  accepted: number;
  quarantined: number;
  rejected: number;
}

/** The events of one key and one schema. */
export interface SenderStats extends Tally {
  readonly keyId: KeyId | null;
  readonly schemaId: string | null;
  /** Code -> events. */
  readonly codes: Record<string, number>;
  /** The minutes of the last ones; null: none in the hour. */
  lastAcceptedMinute: number | null;
  lastRejectedMinute: number | null;
}

export interface HourStats extends Tally {
  /** Those with the most refusals first. */
  readonly senders: readonly SenderStats[];
  /** All 60, the oldest first. */
  readonly minutes: readonly (Tally & { readonly minute: number })[];
}

const noTally = (): Tally => ({ accepted: 0, quarantined: 0, rejected: 0 });
const kindOf = (outcome: EventOutcome): keyof Tally =>
  outcome === "accepted" || outcome === "quarantined" ? outcome : "rejected";

/** What the counts of a workspace say of the hour that ends with this minute. */
export function summarize(counts: readonly StatCount[], toMinute: number): HourStats {
  const senders = new Map<string, SenderStats>();
  const from = toMinute - MINUTES + 1;
  const minutes = Array.from({ length: MINUTES }, (_, n) => ({ minute: from + n, ...noTally() }));
  const whole = noTally();
  for (const { minute, keyId, schemaId, outcome, events } of counts) {
    // Another gateway's clock may be a little ahead.
    const at = Math.min(minute, toMinute);
    if (at < from) continue;
    const name = JSON.stringify([keyId, schemaId]);
    const sender = senders.get(name) ?? { keyId, schemaId, ...noTally(), codes: {}, ...NEVER };
    senders.set(name, sender);
    const kind = kindOf(outcome);
    for (const tally of [sender, minutes[at - from]!, whole]) tally[kind] += events;
    if (kind === "rejected") sender.codes[outcome] = (sender.codes[outcome] ?? 0) + events;
    const last = LAST[kind];
    if (last !== null) sender[last] = Math.max(sender[last] ?? 0, at);
  }
  const sorted = [...senders.values()].toSorted((a, b) => b.rejected - a.rejected || b.accepted - a.accepted);
  return { ...whole, senders: sorted, minutes };
}
/** What is in quarantine is no event: it neither worked nor was refused. */
const LAST = { accepted: "lastAcceptedMinute", quarantined: null, rejected: "lastRejectedMinute" } as const;
const NEVER = { lastAcceptedMinute: null, lastRejectedMinute: null };
