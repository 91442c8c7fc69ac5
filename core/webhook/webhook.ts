import type { EntryFilter } from "../audience/feed.js";
import type { TurnId, WebhookId, WorkspaceId } from "../ids.js";
import { delayAfter, STOPPED_AFTER_MS } from "./schedule.js";

/** A cursor on the feed of a workspace, which is pushed forward by telling an address what comes next. */
export interface Webhook extends EntryFilter {
  readonly workspace: WorkspaceId;
  readonly webhookId: WebhookId;
  readonly url: string;
  /** Milliseconds since 1970, like each `at` here. */
  readonly createdAt: number;
  /** Each entry up to this number was delivered, or was not wanted. */
  readonly delivered: number;
  /** What is being delivered: until that is done, no other batch is. */
  readonly batch: Batch | null;
  readonly turn: Turn | null;
  /** Null while the last try succeeded. */
  readonly failing: { readonly since: number; readonly tries: number } | null;
  readonly nextTryAt: number;
  readonly isStopped: boolean;
  /** The last one that there was. */
  readonly lastError: { readonly at: number; readonly text: string } | null;
  /** How often it was set back to an earlier number. */
  readonly replays: number;
  /** Its secret is derived from this. */
  readonly secretNo: number;
  /** Until when each of the secrets before it signs as well, the newest first. */
  readonly oldSecretsUntil: readonly number[];
}

/** The numbers of the first and the last entry. A batch that is sent again is the same, byte for byte. */
export interface Batch {
  readonly first: number;
  readonly last: number;
}

/** Somebody sends the batch; others leave it to him until then. It only spares work: the cursor decides. */
export interface Turn {
  readonly turnId: TurnId;
  /** The process. */
  readonly by: string;
  readonly until: number;
}

/** What came of a try. `gone`: the receiver wants no more. */
export type Outcome =
  | { readonly kind: "delivered" }
  | { readonly kind: "failed" | "gone"; readonly error: string; readonly retryAfterMs: number | null };

export const WEBHOOKS_MAX = 20;
export const BATCH_MAX = 100;
export const OLD_SECRET_MS = 86_400_000;
/** With the one that stands: each is a signature in a header, which has an end. */
const SECRETS_MAX = 10;
export const STATES = ["active", "failing", "stopped"] as const;

export function stateOf({ isStopped, failing }: Webhook): (typeof STATES)[number] {
  if (isStopped) return "stopped";
  return failing === null ? "active" : "failing";
}

/** Nobody else sends it now, and its time has come. */
export const isFree = (
  { isStopped, nextTryAt, turn }: Webhook,
  isOver: (deadline: "try" | "turn", until: number) => boolean,
): boolean => !isStopped && isOver("try", nextTryAt) && (turn === null || isOver("turn", turn.until));

/** The same place of the same feed: whoever moved it meanwhile, or set it back, made what was read of it out of date. */
export const isAt = (webhook: Webhook, seen: Webhook): boolean =>
  webhook.delivered === seen.delivered && webhook.replays === seen.replays && !webhook.isStopped;

export const withTurn = (webhook: Webhook, batch: Batch, turn: Turn): Webhook => ({ ...webhook, batch, turn });

/** Nothing up to that number is wanted; somebody who has read more of the feed may be sending what comes behind it. */
export const passedOver = (webhook: Webhook, to: number): Webhook => ({ ...webhook, delivered: to });

/** `random` is from 0 to 1. */
export function afterTry(webhook: Webhook, outcome: Outcome, at: number, random: number): Webhook {
  const rest = { ...webhook, turn: null };
  if (outcome.kind === "delivered")
    return { ...rest, delivered: webhook.batch!.last, batch: null, failing: null, nextTryAt: 0 };
  const failing = { since: webhook.failing?.since ?? at, tries: (webhook.failing?.tries ?? 0) + 1 };
  return {
    ...rest,
    failing,
    nextTryAt: at + delayAfter(failing.tries, outcome.retryAfterMs, random),
    isStopped: outcome.kind === "gone" || at - failing.since >= STOPPED_AFTER_MS,
    lastError: { at, text: outcome.error },
  };
}

/** Entries that it had still to tell are kept no more; what comes of those that are being sent says nothing. */
export const afterTrim = (webhook: Webhook, oldest: number, at: number): Webhook => ({
  ...webhook,
  delivered: oldest - 1,
  batch: null,
  turn: null,
  lastError: {
    at,
    text: `Entries ${webhook.delivered + 1} to ${oldest - 1} are kept no more. It goes on with ${oldest}: read the members anew.`,
  },
});

/** The feed ends before what was told already: it was restored from a backup, and its numbers now mean something else. */
export const afterRestore = (webhook: Webhook, head: number, at: number): Webhook => ({
  ...webhook,
  batch: null,
  turn: null,
  isStopped: true,
  lastError: {
    at,
    text: `The feed ends at ${head}, before what was delivered: it was restored from a backup. Read the members anew, and resume after a number.`,
  },
});

/** Goes on now; `after` not null: behind that number. */
export const resumed = (webhook: Webhook, after: number | null): Webhook => ({
  ...webhook,
  isStopped: false,
  failing: null,
  nextTryAt: 0,
  ...(after !== null && { delivered: after, batch: null, turn: null, replays: webhook.replays + 1 }),
});

/** Each secret before keeps its own day, because a receiver may still have that one. */
export const rotated = (webhook: Webhook, at: number): Webhook => ({
  ...webhook,
  secretNo: webhook.secretNo + 1,
  oldSecretsUntil: [at + OLD_SECRET_MS, ...webhook.oldSecretsUntil].slice(0, SECRETS_MAX - 1),
});
