import { isTrimmed } from "../../commands/audiences/feed.js";
import { outcomeOf, sendBatch } from "../../commands/webhooks/send.js";
import type { Services } from "../../commands/services.js";
import { isWanted } from "../../core/audience/feed.js";
import { newId, type TurnId } from "../../core/ids.js";
import type { Metrics } from "../../core/metrics.js";
import type { FeedPage, Numbered } from "../../core/ports/seat-store.js";
import {
  afterRestore,
  afterTrim,
  afterTry,
  BATCH_MAX,
  isAt,
  passedOver,
  withTurn,
  type Batch,
  type Webhook,
} from "../../core/webhook/webhook.js";

export interface DeliverDeps extends Pick<Services, "webhooks" | "seats" | "catalog" | "outbound" | "now"> {
  readonly metrics: Pick<Metrics, "webhookSent">;
  /** The process. */
  readonly by: string;
  /** Whether the webhook is free for this process. */
  readonly isFree: (webhook: Webhook) => boolean;
  readonly random: () => number;
}

/** Longer than a try takes. */
const TURN_MS = 20_000;
const PER_READ = 1_000;

/** What comes next of the feed for a webhook. */
type Next =
  | { readonly kind: "nothing" }
  | { readonly kind: "restored"; readonly head: number }
  | { readonly kind: "trimmed"; readonly oldest: number }
  | { readonly kind: "unwanted"; readonly to: number }
  | { readonly kind: "batch"; readonly batch: Batch; readonly entries: readonly Numbered[] };

/**
 * Does the next thing for the webhook. Answers it as it stands then if there may be more to do for it now, else null. However many do so
 * at once, for each batch the cursor moves once, and only after the receiver took it.
 */
export async function deliverNext(deps: DeliverDeps, seen: Webhook, signal: AbortSignal): Promise<Webhook | null> {
  const { workspace } = seen;
  const next = await readNext(deps, seen);
  const at = deps.now(workspace);
  switch (next.kind) {
    case "nothing":
      return null;
    case "restored":
      await changeIfAt(deps, seen, (current) => afterRestore(current, next.head, at));
      deps.metrics.webhookSent("stopped");
      return null;
    case "trimmed":
      return changeIfAt(deps, seen, (current) => afterTrim(current, next.oldest, at));
    case "unwanted":
      return changeIfAt(deps, seen, (current) => passedOver(current, next.to));
    case "batch":
      break;
  }
  return deliver(deps, seen, next.batch, next.entries, signal);
}

async function readNext({ seats }: DeliverDeps, { workspace, delivered, batch, ...filter }: Webhook): Promise<Next> {
  const limit = batch === null ? PER_READ : batch.last - delivered;
  const page = await seats.feed(workspace, delivered, limit);
  if (delivered > page.head) return { kind: "restored", head: page.head };
  if (isTrimmed(delivered, page)) return { kind: "trimmed", oldest: beginningOf(page) };
  const wanted = page.entries.filter(({ entry }) => isWanted(entry, filter)).slice(0, BATCH_MAX);
  const [first, last] = [wanted[0], wanted.at(-1)];
  const read = page.entries.at(-1);
  if (read === undefined) return { kind: "nothing" };
  if (first === undefined || last === undefined) return { kind: "unwanted", to: read.seq };
  return { kind: "batch", batch: { first: first.seq, last: last.seq }, entries: wanted };
}

const beginningOf = ({ entries, oldest }: FeedPage): number => Math.max(oldest, entries[0]?.seq ?? oldest);

async function deliver(
  deps: DeliverDeps,
  seen: Webhook,
  batch: Batch,
  entries: readonly Numbered[],
  signal: AbortSignal,
): Promise<Webhook | null> {
  const { workspace, webhookId } = seen;
  const turn = { turnId: newId<TurnId>(), by: deps.by, until: deps.now(workspace) + TURN_MS };
  const mine = await changeIfAt(deps, seen, (current) =>
    deps.isFree(current) && isSame(current.batch, seen.batch) ? withTurn(current, batch, turn) : null,
  );
  if (mine === null) return null;
  const posted = await sendBatch(deps, mine, batch, entries, signal);
  // The process ends: whether it was taken nobody knows, so it will be sent again, and no failure is told.
  if (signal.aborted) return null;
  const at = deps.now(workspace);
  const outcome = outcomeOf(posted, at);
  const random = deps.random();
  const after = await deps.webhooks.changeWebhook(workspace, webhookId, (current) =>
    current.turn?.turnId === turn.turnId ? afterTry(current, outcome, at, random) : null,
  );
  deps.metrics.webhookSent(
    outcome.kind === "delivered" ? "delivered" : after?.isStopped === true ? "stopped" : "failed",
  );
  return outcome.kind === "delivered" ? after : null;
}

const isSame = (a: Batch | null, b: Batch | null): boolean => a?.first === b?.first && a?.last === b?.last;

/** Null where the webhook stands elsewhere meanwhile. */
async function changeIfAt(
  { webhooks }: Pick<DeliverDeps, "webhooks">,
  seen: Webhook,
  change: (current: Webhook) => Webhook | null,
): Promise<Webhook | null> {
  let isDone = false;
  const after = await webhooks.changeWebhook(seen.workspace, seen.webhookId, (current) => {
    const changed = isAt(current, seen) ? change(current) : null;
    isDone = changed !== null;
    return changed;
  });
  return isDone ? after : null;
}
