import { setTimeout as sleep } from "node:timers/promises";
import { bodyOf, type Answer, type Request } from "../../shared/client.js";
import type { Findings } from "../check/findings.js";
import type { History } from "../check/history.js";
import { typeOf, type BatchOperation } from "./batch.js";
import type { EventOperation, Operation, Plan, Sending } from "./operation.js";
import type { Site } from "../process/site.js";
import type { Pace } from "./pace.js";
import type { Running } from "../process/slot.js";
import type { Target } from "../process/target.js";

interface LoadDeps {
  readonly target: Pick<Target, "running">;
  readonly sites: readonly Site[];
  readonly plan: Plan;
  readonly history: History;
  readonly findings: Findings;
  readonly pace: Pace;
}

const AWAY_MS = 50;
const IDLE_MS = 10;
/** One client in so many sends links as well: while the graph is away they wait for it, and the others go on. */
const ONE_LINKS = 3;
/** Planned links beyond this are never begun. */
const LINKS_WAITING_MAX = 200;

/** So many clients, each with one request under way at any time. They wait while the service is down. */
export function startLoad(deps: LoadDeps, clients: number) {
  const { target, history, findings } = deps;
  const work = createWork(deps);
  /** Requests that got no answer, and that were answered 503. */
  let [interrupted, refused] = [0, 0];

  const attempt = async ({ client, wasKilled }: Running, sending: Sending): Promise<void> => {
    const operations = operationsOf(sending);
    if (sending.kind === "batch") history.batched(sending);
    for (const operation of operations) history.invoked(operation);
    try {
      const answer = await client.send(requestOf(deps.sites, sending));
      const what = sending.kind === "batch" ? settleBatch(deps, sending, answer) : settle(deps, sending, answer);
      if (what === "away") {
        refused += 1;
        await sleep(AWAY_MS);
      }
      if (what === "away" || (what === "first" && sending.kind !== "link" && sending.isSentTwice)) work.retry(sending);
    } catch (error) {
      interrupted += 1;
      for (const operation of operations) history.unknown(operation, String(error));
      if (!(await wasKilled()))
        findings.unexpected(`operation ${operations[0]!.id}: ${String(error)}, and nobody was killed`);
      work.retry(sending);
    }
  };
  const runClient = async (sendsLinks: boolean): Promise<void> => {
    for (;;) {
      const running = await target.running();
      const operation = work.next(sendsLinks);
      if (operation === "finished") return;
      if (operation === "later") await sleep(IDLE_MS);
      else await attempt(running, operation);
    }
  };

  const running = Promise.all(Array.from({ length: clients }, (_, index) => runClient(index % ONE_LINKS === 0)));
  return {
    /** Begins nothing new, retries what is keyed and unknown until each is acknowledged, and resolves then. */
    finish: async () => {
      work.finish();
      await running;
      return { interrupted, refused };
    },
  };
}

function createWork({ plan, pace }: Pick<LoadDeps, "plan" | "pace">) {
  const again: Sending[] = [];
  const links: Sending[] = [];
  let isFinishing = false;
  const planned = (sendsLinks: boolean): Sending => {
    for (;;) {
      const operation = plan();
      if (sendsLinks || operation.kind !== "link") return operation;
      if (links.length < LINKS_WAITING_MAX) links.push(operation);
    }
  };
  return {
    next: (sendsLinks: boolean): Sending | "later" | "finished" => {
      const waiting = again.shift() ?? (sendsLinks && !isFinishing ? links.shift() : undefined);
      if (waiting !== undefined) return waiting;
      if (isFinishing) return "finished";
      return pace.take() ? planned(sendsLinks) : "later";
    },
    /** Keyed events only: nobody can say what a second try of the others would do. */
    retry: (sending: Sending): void => {
      const isKeyed = sending.kind === "batch" ? !sending.isAtomic : keyOf(sending) !== null;
      if (isKeyed) again.push(sending);
    },
    finish: (): void => {
      isFinishing = true;
    },
  };
}

const operationsOf = (sending: Sending): readonly Operation[] =>
  sending.kind === "batch" ? sending.events : [sending];
const keyOf = (sending: Sending): string | null => (sending.kind === "link" ? null : sending.idempotencyKey);

function requestOf(sites: readonly Site[], sending: Sending): Request {
  const { path, body, site } = sending;
  const idempotencyKey = keyOf(sending);
  return {
    method: "POST",
    path,
    key: sites[site]!.key,
    body,
    headers: {
      ...(sending.kind === "batch" && { "Content-Type": typeOf(sending) }),
      ...(idempotencyKey !== null && { "Idempotency-Key": idempotencyKey }),
    },
  };
}

interface EventBody {
  readonly event_id: string;
  readonly status: string;
}

interface LinkBody {
  readonly profile_id: string;
  readonly merged_profile_ids: readonly string[];
}

interface BatchBody {
  readonly results: readonly EventBody[];
}

type Settled = "first" | "repeated" | "away" | "wrong";

const isAway = ({ status, headers }: Answer): boolean => status === 503 && headers["retry-after"] !== undefined;

/** All events of a batch are sound, so all must be accepted. */
function settleBatch({ history, findings }: LoadDeps, { events, path }: BatchOperation, answer: Answer): Settled {
  if (isAway(answer)) {
    for (const event of events) history.unknown(event, "503");
    return "away";
  }
  const results = answer.status === 202 ? bodyOf<BatchBody>(answer).results : [];
  if (results.length !== events.length) {
    findings.unexpected(`operation ${events[0]!.id}: ${path} answered ${answer.status} ${answer.text.slice(0, 300)}`);
    return "wrong";
  }
  const settled = events.map((event, index) => accept({ history, findings }, event, results[index]!, answer.status));
  return settled.includes("repeated") ? "repeated" : "first";
}

function accept(
  { history, findings }: Pick<LoadDeps, "history" | "findings">,
  event: EventOperation,
  { event_id: eventId }: EventBody,
  status: number,
): Settled {
  const earlier = history.acknowledged(event, { status, eventId });
  if (earlier !== null && earlier !== eventId)
    findings.duplicated(`operation ${event.id}: one key answered ${earlier} and then ${eventId}`);
  return earlier === null ? "first" : "repeated";
}

/** Keeps what was answered. `away`: a 503, which says nothing about what happened. */
function settle({ history, findings }: LoadDeps, operation: Operation, answer: Answer): Settled {
  const { status } = answer;
  const wrong = (): "wrong" => {
    findings.unexpected(`operation ${operation.id}: ${operation.path} answered ${status} ${answer.text.slice(0, 300)}`);
    return "wrong";
  };
  if (isAway(answer)) {
    history.unknown(operation, "503");
    return "away";
  }
  if (operation.kind === "link") {
    if (status !== 200) return wrong();
    const { profile_id, merged_profile_ids } = bodyOf<LinkBody>(answer);
    history.acknowledged(operation, { status, profileId: profile_id, retired: merged_profile_ids });
    return "first";
  }
  const body = status === 202 ? bodyOf<EventBody>(answer) : null;
  if (body?.status !== "accepted") return wrong();
  return accept({ history, findings }, operation, body, status);
}
