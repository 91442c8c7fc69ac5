import { createHmac } from "node:crypto";
import type { Webhook } from "./webhook.js";

type Signed = Pick<Webhook, "workspace" | "webhookId" | "secretNo" | "oldSecretsUntil">;

/** The secret is not stored: whoever has that of the installation can tell it. */
const secretOf = (installation: Buffer, { workspace, webhookId }: Signed, secretNo: number): Buffer =>
  createHmac("sha256", installation)
    .update(JSON.stringify(["webhook", workspace, webhookId, secretNo]))
    .digest();

/** As receivers get it. */
export const shownSecret = (installation: Buffer, webhook: Signed): string =>
  `whsec_${secretOf(installation, webhook, webhook.secretNo).toString("base64")}`;

/** The headers of Standard Webhooks (standardwebhooks.com). */
export function signedHeaders(
  installation: Buffer,
  webhook: Signed,
  { id, body, at }: { readonly id: string; readonly body: string; readonly at: number },
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(at / 1_000));
  // Not always the newest ends last: the clock may have been set back.
  const old = webhook.oldSecretsUntil.flatMap((until, n) => (at < until ? [webhook.secretNo - 1 - n] : []));
  const numbers = [webhook.secretNo, ...old];
  const signatures = numbers.map((secretNo) =>
    createHmac("sha256", secretOf(installation, webhook, secretNo))
      .update(`${id}.${timestamp}.${body}`)
      .digest("base64"),
  );
  return {
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": signatures.map((signature) => `v1,${signature}`).join(" "),
  };
}
