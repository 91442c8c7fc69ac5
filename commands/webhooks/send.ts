import { bodyOf, messageId, testId } from "../../core/webhook/body.js";
import { signedHeaders } from "../../core/webhook/signature.js";
import { retryAfterMs } from "../../core/webhook/schedule.js";
import type { Batch, Outcome, Webhook } from "../../core/webhook/webhook.js";
import type { Posted } from "../../core/webhook/outbound.js";
import type { Numbered } from "../../core/ports/seat-store.js";
import type { Services } from "../services.js";

const GONE = 410;

type SendServices = Pick<Services, "catalog" | "outbound" | "now">;

export function sendBatch(
  services: SendServices,
  webhook: Webhook,
  batch: Batch,
  entries: readonly Numbered[],
  signal: AbortSignal,
): Promise<Posted> {
  return send(services, webhook, { id: messageId(webhook, batch), body: bodyOf(webhook, batch, entries) }, signal);
}

/** A batch without entries. */
export function sendTest(services: SendServices, webhook: Webhook): Promise<Posted> {
  const { delivered, workspace } = webhook;
  const body = bodyOf(webhook, { first: delivered + 1, last: delivered }, []);
  return send(services, webhook, { id: testId(webhook, services.now(workspace)), body }, new AbortController().signal);
}

/** Signs it and posts it. Never rejects for what the receiver does. */
async function send(
  { catalog, outbound, now }: SendServices,
  webhook: Webhook,
  message: { readonly id: string; readonly body: string },
  signal: AbortSignal,
): Promise<Posted> {
  const { url, workspace } = webhook;
  const headers = signedHeaders(await catalog.secret(), webhook, { ...message, at: now(workspace) });
  return outbound.post({ url, headers, body: message.body }, signal);
}

export function outcomeOf({ status, error, retryAfter }: Posted, at: number): Outcome {
  if (error === null) return { kind: "delivered" };
  return { kind: status === GONE ? "gone" : "failed", error, retryAfterMs: retryAfterMs(retryAfter, at) };
}
