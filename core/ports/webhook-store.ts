import type { WebhookId, WorkspaceId } from "../ids.js";
import type { Webhook } from "../webhook/webhook.js";
import type { Page, Port } from "./port.js";

export interface WebhookStore extends Port {
  /** Stores it; answers false and stores nothing where its workspace has `max` already. One that stands stays as it stands. */
  createWebhook(webhook: Webhook, max: number): Promise<boolean>;
  findWebhook(workspace: WorkspaceId, webhookId: WebhookId): Promise<Webhook | null>;
  /** By id (age). */
  webhooks(workspace: WorkspaceId, page: Page<WebhookId>): Promise<readonly Webhook[]>;
  /**
   * Puts what `change` makes of it in its place, in one step, and answers it; null if there is none. `change` may be asked again; nothing
   * changes if it throws, and what it threw is thrown. It answers null to change nothing.
   */
  changeWebhook(
    workspace: WorkspaceId,
    webhookId: WebhookId,
    change: (current: Webhook) => Webhook | null,
  ): Promise<Webhook | null>;
  /** Answers whether there was one. */
  deleteWebhook(workspace: WorkspaceId, webhookId: WebhookId): Promise<boolean>;
  /** Those that are not stopped, of all workspaces, by id. */
  openWebhooks(page: Page<WebhookId>): Promise<readonly Webhook[]>;
}
