import { setTimeout as sleep } from "node:timers/promises";
import { bodyOf, type Answer, type Request } from "../../shared/client.js";
import type { Findings } from "../check/findings.js";
import type { History } from "../check/history.js";
import type { Operation, Plan } from "./operation.js";
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

  const attempt = async ({ client, wasKilled }: Running, operation: Operation): Promise<void> => {
    history.invoked(operation);
    try {
      const answer = await client.send(requestOf(deps.sites, operation));
      const what = settle(deps, operation, answer);
      if (what === "away") {
        refused += 1;
        await sleep(AWAY_MS);
      }
      if (what === "away" || (what === "first" && operation.kind === "event" && operation.isSentTwice))
        work.retry(operation);
    } catch (error) {
      interrupted += 1;
      history.unknown(operation, String(error));
      if (!(await wasKilled()))
        findings.unexpected(`operation ${operation.id}: ${String(error)}, and nobody was killed`);
      work.retry(operation);
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
  const again: Operation[] = [];
  const links: Operation[] = [];
  let isFinishing = false;
  const planned = (sendsLinks: boolean): Operation => {
    for (;;) {
      const operation = plan();
      if (sendsLinks || operation.kind === "event") return operation;
      if (links.length < LINKS_WAITING_MAX) links.push(operation);
    }
  };
  return {
    next: (sendsLinks: boolean): Operation | "later" | "finished" => {
      const waiting = again.shift() ?? (sendsLinks && !isFinishing ? links.shift() : undefined);
      if (waiting !== undefined) return waiting;
      if (isFinishing) return "finished";
      return pace.take() ? planned(sendsLinks) : "later";
    },
    /** Keyed events only: nobody can say what a second try of the others would do. */
    retry: (operation: Operation): void => {
      if (operation.kind === "event" && operation.idempotencyKey !== null) again.push(operation);
    },
    finish: (): void => {
      isFinishing = true;
    },
  };
}

function requestOf(sites: readonly Site[], operation: Operation): Request {
  const { path, body, site } = operation;
  const idempotencyKey = operation.kind === "event" ? operation.idempotencyKey : null;
  return {
    method: "POST",
    path,
    key: sites[site]!.key,
    body,
    ...(idempotencyKey !== null && { headers: { "Idempotency-Key": idempotencyKey } }),
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

/** Keeps what was answered. `away`: a 503, which says nothing about what happened. */
function settle(
  { history, findings }: LoadDeps,
  operation: Operation,
  answer: Answer,
): "first" | "repeated" | "away" | "wrong" {
  const { status } = answer;
  const wrong = (): "wrong" => {
    findings.unexpected(`operation ${operation.id}: ${operation.path} answered ${status} ${answer.text.slice(0, 300)}`);
    return "wrong";
  };
  if (status === 503 && answer.headers["retry-after"] !== undefined) {
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
  const earlier = history.acknowledged(operation, { status, eventId: body.event_id });
  if (earlier !== null && earlier !== body.event_id)
    findings.duplicated(`operation ${operation.id}: one key answered ${earlier} and then ${body.event_id}`);
  return earlier === null ? "first" : "repeated";
}
