import type { Database, Tables } from "../../../core/database.js";
import { isDamaged } from "../../../core/errors.js";
import type { WebhookId, WorkspaceId } from "../../../core/ids.js";
import type { Page } from "../../../core/ports/port.js";
import type { WebhookStore } from "../../../core/ports/webhook-store.js";
import type { Webhook } from "../../../core/webhook/webhook.js";
import { createTables } from "../schema.js";
import { createSession } from "../session.js";

const TABLES: Tables = {
  part: "webhooks",
  format: 2,
  sql: `
  CREATE TABLE webhooks (
    ws TEXT NOT NULL,
    id TEXT NOT NULL,
    is_open INTEGER NOT NULL,
    webhook TEXT NOT NULL,
    PRIMARY KEY (ws, id)
  ) WITHOUT ROWID;
  CREATE INDEX webhooks_open ON webhooks (id) WHERE is_open = 1
  `,
};

/** Webhooks, each a row of JSON. */
export function createEmbeddedWebhookStore({ database }: { readonly database: Database }): WebhookStore {
  const session = createSession(database);
  createTables(database, TABLES);
  const count = database.prepare("SELECT count(*) FROM webhooks WHERE ws = ?");
  const find = database.prepare("SELECT webhook FROM webhooks WHERE ws = ? AND id = ?");
  const page = database.prepare("SELECT webhook FROM webhooks WHERE ws = ? AND id > ? ORDER BY id LIMIT ?");
  const open = database.prepare("SELECT webhook FROM webhooks WHERE is_open = 1 AND id > ? ORDER BY id LIMIT ?");
  const openIds = database.prepare("SELECT ws, id FROM webhooks WHERE is_open = 1 AND id > ? ORDER BY id LIMIT ?");
  const put = database.prepare("INSERT OR REPLACE INTO webhooks (ws, id, is_open, webhook) VALUES (?, ?, ?, ?)");
  const remove = database.prepare("DELETE FROM webhooks WHERE ws = ? AND id = ?");
  const save = (webhook: Webhook): void => {
    const { workspace, webhookId, isStopped } = webhook;
    put.run([workspace, webhookId, Number(!isStopped), JSON.stringify(webhook)]);
  };
  /** Null until one was met that stands on a damaged page. */
  let unreadable: Set<WebhookId> | null = null;

  const readOpen = ({ limit, after }: Page<WebhookId>): readonly Webhook[] => {
    if (unreadable === null)
      try {
        return open.all([after ?? "", limit]).map((row) => toWebhook(row)!);
      } catch (error) {
        if (!isDamaged(error)) throw error;
      }
    return readEachOpen({ limit, after }, (unreadable ??= new Set()));
  };

  /** A list ends at the first damaged page, so the index says which there are, and those that can be read are read one by one. */
  const readEachOpen = ({ limit, after }: Page<WebhookId>, passed: Set<WebhookId>): readonly Webhook[] => {
    const found: Webhook[] = [];
    for (let last: string = after ?? ""; ;) {
      const ids = openIds.all([last, limit]) as readonly (readonly [WorkspaceId, WebhookId])[];
      for (const [workspace, webhookId] of ids) {
        if (!passed.has(webhookId))
          try {
            found.push(toWebhook(find.get([workspace, webhookId]))!);
          } catch (error) {
            if (!isDamaged(error)) throw error;
            passed.add(webhookId);
          }
        if (found.length === limit) return found;
      }
      if (ids.length < limit) return found;
      last = ids.at(-1)![1];
    }
  };

  return {
    createWebhook: (webhook, max) =>
      session.write(() => {
        const { workspace, webhookId } = webhook;
        if (find.get([workspace, webhookId]) !== undefined) return true;
        if ((count.get([workspace])![0] as number) >= max) return false;
        save(webhook);
        return true;
      }),
    findWebhook: (workspace, webhookId) => session.read(() => toWebhook(find.get([workspace, webhookId]))),
    webhooks: (workspace, { limit, after }) =>
      session.read(() => page.all([workspace, after ?? "", limit]).map((row) => toWebhook(row)!)),
    changeWebhook: (workspace, webhookId, change) =>
      session.write(() => {
        const current = toWebhook(find.get([workspace, webhookId]));
        if (current === null) return null;
        const changed = change(current);
        if (changed !== null) save(changed);
        return changed ?? current;
      }),
    deleteWebhook: (workspace, webhookId) => session.write(() => remove.run([workspace, webhookId]).changes === 1),
    openWebhooks: (asked) => session.read(() => readOpen(asked)),
    ready: session.ready,
    close: session.close,
  };
}

const toWebhook = (row: readonly unknown[] | undefined): Webhook | null =>
  row === undefined ? null : (JSON.parse(row[0] as string) as Webhook);
