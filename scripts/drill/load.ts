import { setTimeout as sleep } from "node:timers/promises";
import { bodyOf, type Answer, type Request } from "./client.js";
import type { Findings } from "./findings.js";
import type { History } from "./history.js";
import type { Operation, Plan } from "./operation.js";
import type { Site } from "./site.js";
import type { Running, Target } from "./target.js";

export interface LoadDeps {
  readonly target: Pick<Target, "running">;
  readonly sites: readonly Site[];
  readonly plan: Plan;
  readonly history: History;
  readonly findings: Findings;
}

export interface Load {
  /** Begins nothing new, retries what is keyed and unknown until each is acknowledged, and resolves then. */
  finish(): Promise<void>;
  /** Requests that got no answer. */
  interrupted(): number;
}

const AWAY_MS = 50;

/** So many clients, each with one request under way at any time. They wait while the service is down. */
export function startLoad(deps: LoadDeps, clients: number): Load {
  const { target, plan, history, findings } = deps;
  const again: Operation[] = [];
  let isFinishing = false;
  let interrupted = 0;

  const next = (): Operation | null => again.shift() ?? (isFinishing ? null : plan());
  const retryLater = (operation: Operation): void => {
    if (operation.kind === "event" && operation.idempotencyKey !== null) again.push(operation);
  };
  const attempt = async ({ client, wasKilled }: Running, operation: Operation): Promise<void> => {
    history.invoked(operation);
    try {
      const answer = await client.send(requestOf(deps.sites, operation));
      const what = settle(deps, operation, answer);
      if (what === "away") await sleep(AWAY_MS);
      if (what === "away" || (what === "first" && operation.kind === "event" && operation.isSentTwice))
        retryLater(operation);
    } catch (error) {
      interrupted += 1;
      history.unknown(operation, String(error));
      if (!(await wasKilled()))
        findings.unexpected(`operation ${operation.id}: ${String(error)}, and nobody was killed`);
      retryLater(operation);
    }
  };
  const runClient = async (): Promise<void> => {
    for (;;) {
      const running = await target.running();
      const operation = next();
      if (operation === null) return;
      await attempt(running, operation);
    }
  };

  const running = Promise.all(Array.from({ length: clients }, runClient));
  return {
    finish: async () => {
      isFinishing = true;
      await running;
    },
    interrupted: () => interrupted,
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
    const { profile_id, merged_profile_ids } = bodyOf(answer) as LinkBody;
    history.acknowledged(operation, { status, profileId: profile_id, retired: merged_profile_ids });
    return "first";
  }
  const body = status === 202 ? (bodyOf(answer) as EventBody) : null;
  if (body?.status !== "accepted") return wrong();
  const earlier = history.acknowledged(operation, { status, eventId: body.event_id });
  if (earlier !== null && earlier !== body.event_id)
    findings.duplicated(`operation ${operation.id}: one key answered ${earlier} and then ${body.event_id}`);
  return earlier === null ? "first" : "repeated";
}
