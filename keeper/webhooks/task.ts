import { createDeadlines } from "../../core/deadlines.js";
import { isUnavailable } from "../../core/errors.js";
import { newId, type WebhookId, type WorkspaceId } from "../../core/ids.js";
import { describeError, type Log } from "../../core/log.js";
import { isFree as isFreeFor, type Webhook } from "../../core/webhook/webhook.js";
import type { Task } from "../task.js";
import { deliverNext, type DeliverDeps } from "./deliver.js";

export interface WebhookDeps extends Omit<DeliverDeps, "by" | "isFree" | "random"> {
  readonly log: Log;
  /** No other process delivers: what one that is no more began is free. */
  readonly isAlone: boolean;
  /** From 0 to 1. */
  readonly random?: () => number;
  /** Milliseconds that no clock sets back. */
  readonly steady?: () => number;
}

export interface WebhookTask extends Task {
  /** For how long the webhook that is furthest behind has not told what stood in the feed then, milliseconds. */
  lagMs(): number;
  /** Cuts off what is under way. */
  close(): Promise<void>;
}

const BUSY_MS = 200;
const IDLE_MS = 1_000;
const PAGE = 100;
/** Tries at once: of a workspace, of the process, and those of them that failed last time. */
const OF_WORKSPACE = 4;
const OF_PROCESS = 64;
const OF_FAILING = 32;
/** What cannot be read is asked for again after so long, and after so long where a dependency is away. */
const FAILED_MS = 60_000;
const AWAY_MS = 5_000;
/** Of so many it is known when their last turn ended. */
const ENDED_MAX = 10_000;
/** One webhook after the other may go on for so long before others have its place. */
const TURN_MS = 2_000;

/**
 * Pushes each webhook forward. A step only begins what is to be done: a receiver takes seconds, and must hold up nothing else. What runs
 * goes on beside the keeper's other tasks.
 */
export function createWebhookTask(deps: WebhookDeps): WebhookTask {
  const { webhooks, seats, now, log, isAlone, random = Math.random } = deps;
  const by = newId<string>();
  const closing = new AbortController();
  const running = new Map<WebhookId, { readonly webhook: Webhook; readonly ended: Promise<void> }>();
  const lags = createLags();
  let after: WebhookId | null = null;
  let isAnyOpen = false;
  /** Those that were seen since the round began and have something to tell. */
  let seen: Webhook[] = [];
  /** Those of the round before that had no place yet, who waits longest first. */
  let ready: Webhook[] = [];
  /** Of the round: whether any feed could be read, and why one could not. */
  let reads: { isAnyRead: boolean; away: unknown } = { isAnyRead: false, away: null };
  /** When the last turn of each ended, in that order. */
  const endedAt = new Map<WebhookId, number>();
  const noteEnd = (webhookId: WebhookId): void => {
    endedAt.delete(webhookId);
    endedAt.set(webhookId, performance.now());
    if (endedAt.size > ENDED_MAX) endedAt.delete(endedAt.keys().next().value!);
  };

  const deadlines = createDeadlines(deps.steady);
  const isFree = (webhook: Webhook): boolean => {
    const { workspace, webhookId, turn, failing } = webhook;
    const isOurs = turn !== null && (isAlone || turn.by === by);
    const at = now(workspace);
    const isOver = (deadline: "try" | "turn", until: number): boolean =>
      deadlines.isOver(`${webhookId} ${deadline === "try" ? (failing?.tries ?? 0) : turn?.turnId}`, until, at);
    return isFreeFor(isOurs ? { ...webhook, turn: null } : webhook, isOver);
  };
  const deliverDeps: DeliverDeps = { ...deps, by, isFree, random };

  const failedUntil = new Map<WorkspaceId | WebhookId, number>();
  const isFailing = (id: WorkspaceId | WebhookId): boolean => {
    if ((failedUntil.get(id) ?? -Infinity) > performance.now()) return true;
    failedUntil.delete(id);
    return false;
  };
  /** Null where it cannot be read: that holds up no other workspace. */
  const readHead = async (workspace: WorkspaceId): Promise<number | null> => {
    if (isFailing(workspace)) return null;
    try {
      const { head } = await seats.sizes(workspace);
      reads.isAnyRead = true;
      return head;
    } catch (error) {
      if (isUnavailable(error)) {
        reads.away = error;
        return null;
      }
      failedUntil.set(workspace, performance.now() + FAILED_MS);
      log.error({ workspace, ...describeError(error) }, "the webhooks of a workspace wait for a minute");
      return null;
    }
  };

  const run = async (webhook: Webhook): Promise<void> => {
    const end = performance.now() + TURN_MS;
    try {
      for (let seen: Webhook | null = webhook; seen !== null;)
        seen =
          closing.signal.aborted || performance.now() >= end
            ? null
            : await deliverNext(deliverDeps, seen, closing.signal);
    } catch (error) {
      const { workspace, webhookId } = webhook;
      const fields = { workspace, webhookId, ...describeError(error) };
      failedUntil.set(webhookId, performance.now() + (isUnavailable(error) ? AWAY_MS : FAILED_MS));
      if (isUnavailable(error)) log.warn(fields, "a webhook waits for a dependency");
      else log.error(fields, "a webhook could not be pushed forward: it waits for a minute");
    } finally {
      running.delete(webhook.webhookId);
      noteEnd(webhook.webhookId);
      beginReady();
    }
  };

  const waitsSince = ({ webhookId }: Webhook): number => endedAt.get(webhookId) ?? 0;
  /** Those that wait longest have the free places. Each end of a turn comes here: it goes no further than there are places. */
  const beginReady = (): void => {
    if (closing.signal.aborted) return;
    const places = createPlaces();
    for (const { webhook } of running.values()) places.take(webhook);
    const left: Webhook[] = [];
    let at = 0;
    for (; at < ready.length && running.size < OF_PROCESS; at += 1) {
      const webhook = ready[at]!;
      // One that began while the round went on may have been seen in it before.
      if (running.has(webhook.webhookId)) continue;
      if (places.take(webhook)) running.set(webhook.webhookId, { webhook, ended: run(webhook) });
      else left.push(webhook);
    }
    ready = [...left, ...ready.slice(at)];
  };
  const endRound = (): void => {
    ready = seen.toSorted((a, b) => waitsSince(a) - waitsSince(b));
    seen = [];
    beginReady();
    lags.endRound();
    const { isAnyRead, away } = reads;
    reads = { isAnyRead: false, away: null };
    // One workspace alone that is away holds up no other.
    if (away !== null && !isAnyRead) throw away;
  };

  return {
    name: "webhooks",
    step: async () => {
      if (closing.signal.aborted) return IDLE_MS;
      const page = await webhooks.openWebhooks({ limit: PAGE, after });
      const heads = new Map<WorkspaceId, number | null>();
      for (const webhook of page) {
        const { webhookId, workspace, delivered } = webhook;
        if (!heads.has(workspace)) heads.set(workspace, await readHead(workspace));
        const head = heads.get(workspace) ?? null;
        if (head === null) {
          lags.keep(webhook);
          continue;
        }
        lags.saw(webhook, head);
        if (head !== delivered && !running.has(webhookId) && !isFailing(webhookId) && isFree(webhook))
          seen.push(webhook);
      }
      isAnyOpen ||= page.length > 0;
      after = page.length < PAGE ? null : page.at(-1)!.webhookId;
      if (after !== null) return 0;
      const wasAnyOpen = isAnyOpen;
      isAnyOpen = false;
      endRound();
      return wasAnyOpen ? BUSY_MS : IDLE_MS;
    },
    lagMs: lags.max,
    close: async () => {
      closing.abort();
      await Promise.all([...running.values()].map(({ ended }) => ended));
    },
  };
}

/** The places of each workspace, and of those that failed last time. */
function createPlaces() {
  const taken = new Map<WorkspaceId, number>();
  let failed = 0;
  return {
    /** False where there is none. */
    take: ({ workspace, failing }: Webhook): boolean => {
      const count = taken.get(workspace) ?? 0;
      if (count >= OF_WORKSPACE || (failing !== null && failed >= OF_FAILING)) return false;
      taken.set(workspace, count + 1);
      if (failing !== null) failed += 1;
      return true;
    },
  };
}

/** Since when each webhook has not reached what was the end of the feed at that moment. */
function createLags() {
  let standing = new Map<WebhookId, { readonly head: number; readonly since: number }>();
  let round = new Map<WebhookId, { readonly head: number; readonly since: number }>();
  return {
    saw: ({ webhookId, delivered }: Webhook, head: number): void => {
      if (delivered >= head) return;
      const known = standing.get(webhookId);
      round.set(webhookId, known !== undefined && delivered < known.head ? known : { head, since: performance.now() });
    },
    /** The end of its feed is not known now: it is as far behind as it was. */
    keep: ({ webhookId }: Webhook): void => {
      const known = standing.get(webhookId);
      if (known !== undefined) round.set(webhookId, known);
    },
    endRound: (): void => {
      standing = round;
      round = new Map();
    },
    max: (): number => {
      const at = performance.now();
      return Math.max(0, ...[...standing.values()].map(({ since }) => at - since));
    },
  };
}
