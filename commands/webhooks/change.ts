import { AppError, type ErrorItem } from "../../core/errors.js";
import { newId, type AudienceId, type WebhookId, type WorkspaceId } from "../../core/ids.js";
import type { Posted } from "../../core/webhook/outbound.js";
import { shownSecret } from "../../core/webhook/signature.js";
import { resumed, rotated, WEBHOOKS_MAX, type Webhook } from "../../core/webhook/webhook.js";
import { requirePosition } from "../audiences/feed.js";
import type { Caller, Services } from "../services.js";
import { sendTest } from "./send.js";

export interface WantedWebhook {
  readonly url: string;
  readonly audienceIds: readonly AudienceId[] | null;
  readonly types: Webhook["types"];
  /** 0: from the oldest entry that is kept on. Null: from now on. */
  readonly after: number | null;
}

/** A webhook, and the last number of the feed that it tells. */
export interface PlacedWebhook {
  readonly webhook: Webhook;
  readonly head: number;
}

export interface WithSecret extends PlacedWebhook {
  readonly secret: string;
}

/** Throws `validation_failed`, and what `requirePosition` throws. */
export async function createWebhook(
  services: Pick<Services, "webhooks" | "audiences" | "seats" | "catalog" | "outbound">,
  { workspace, now }: Pick<Caller, "workspace" | "now">,
  { url, audienceIds, types, after }: WantedWebhook,
): Promise<WithSecret> {
  const wrong = services.outbound.check(url);
  if (wrong !== null) throw invalid({ path: "url", message: wrong });
  await requireAudiences(services, workspace, audienceIds);
  const delivered = await positionOf(services, workspace, after);
  // Not once it is written: who gets 503 asks again, and would make a second one.
  const [{ head }, master] = await Promise.all([services.seats.sizes(workspace), services.catalog.secret()]);
  const webhook: Webhook = {
    workspace,
    webhookId: newId<WebhookId>(),
    url,
    audienceIds,
    types,
    createdAt: now,
    delivered,
    batch: null,
    turn: null,
    failing: null,
    nextTryAt: 0,
    isStopped: false,
    lastError: null,
    replays: 0,
    secretNo: 1,
    oldSecretsUntil: [],
  };
  if (!(await services.webhooks.createWebhook(webhook, WEBHOOKS_MAX)))
    throw invalid({ path: "", message: `a workspace has at most ${WEBHOOKS_MAX} webhooks` });
  return { webhook, head, secret: shownSecret(master, webhook) };
}

export async function requireWebhook(
  { webhooks }: Pick<Services, "webhooks">,
  workspace: WorkspaceId,
  webhookId: WebhookId,
): Promise<Webhook> {
  return found(await webhooks.findWebhook(workspace, webhookId));
}

/** Goes on at once; with `after`, behind that number, or with the oldest entry that is kept if it is 0. */
export async function resumeWebhook(
  services: Pick<Services, "webhooks" | "seats">,
  workspace: WorkspaceId,
  webhookId: WebhookId,
  after: number | null,
): Promise<PlacedWebhook> {
  const { delivered } = await requireWebhook(services, workspace, webhookId);
  // One that stands beyond the end of the feed has to be told where to go on.
  const { head } = await services.seats.sizes(workspace);
  const from = after ?? (delivered > head ? delivered : null);
  const position = from === null ? null : await positionOf(services, workspace, from);
  const to = after === null ? null : position;
  const changed = await services.webhooks.changeWebhook(workspace, webhookId, (current) => resumed(current, to));
  return placedAt(head, changed);
}

/** Each secret before signs as well for a day after it was replaced. */
export async function rotateWebhook(
  { webhooks, catalog, seats }: Pick<Services, "webhooks" | "catalog" | "seats">,
  { workspace, now }: Pick<Caller, "workspace" | "now">,
  webhookId: WebhookId,
): Promise<WithSecret> {
  // Before: the secret would never be shown.
  const [{ head }, master] = await Promise.all([seats.sizes(workspace), catalog.secret()]);
  const changed = await webhooks.changeWebhook(workspace, webhookId, (current) => rotated(current, now));
  const placed = placedAt(head, changed);
  return { ...placed, secret: shownSecret(master, placed.webhook) };
}

/** Sends a batch without entries, once. */
export async function testWebhook(
  services: Pick<Services, "webhooks" | "catalog" | "outbound" | "now">,
  workspace: WorkspaceId,
  webhookId: WebhookId,
): Promise<Posted> {
  return sendTest(services, await requireWebhook(services, workspace, webhookId));
}

/** What was delivered since `head` was read is told with it. */
function placedAt(head: number, changed: Webhook | null): PlacedWebhook {
  const webhook = found(changed);
  return { webhook, head: Math.max(head, webhook.delivered) };
}

const found = (webhook: Webhook | null): Webhook => {
  if (webhook === null) throw new AppError("not_found", "There is no such webhook.");
  return webhook;
};

const invalid = (item: ErrorItem): AppError =>
  new AppError("validation_failed", `${item.path}${item.path === "" ? "" : ": "}${item.message}.`, { errors: [item] });

async function positionOf(
  { seats }: Pick<Services, "seats">,
  workspace: WorkspaceId,
  after: number | null,
): Promise<number> {
  if (after === null) return (await seats.sizes(workspace)).head;
  const page = await seats.feed(workspace, after, 1);
  // Nobody could name it: what is the oldest may be forgotten before the request comes.
  if (after === 0) return page.oldest - 1;
  requirePosition(after, page);
  return after;
}

async function requireAudiences(
  { audiences }: Pick<Services, "audiences">,
  workspace: WorkspaceId,
  audienceIds: readonly AudienceId[] | null,
): Promise<void> {
  if (audienceIds === null) return;
  const standing = new Set((await audiences.audiences(workspace)).audiences.map(({ audienceId }) => audienceId));
  const unknown = audienceIds.findIndex((audienceId) => !standing.has(audienceId));
  if (unknown !== -1) throw invalid({ path: `audience_ids.${unknown}`, message: "there is no such audience" });
}
