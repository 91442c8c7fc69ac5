import type { Database, Tables } from "../../../core/database.js";
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
  const put = database.prepare("INSERT OR REPLACE INTO webhooks (ws, id, is_open, webhook) VALUES (?, ?, ?, ?)");
  const remove = database.prepare("DELETE FROM webhooks WHERE ws = ? AND id = ?");
  const save = (webhook: Webhook): void => {
    const { workspace, webhookId, isStopped } = webhook;
    put.run([workspace, webhookId, Number(!isStopped), JSON.stringify(webhook)]);
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
    openWebhooks: ({ limit, after }) =>
      session.read(() => open.all([after ?? "", limit]).map((row) => toWebhook(row)!)),
    ready: session.ready,
    close: session.close,
  };
}

const toWebhook = (row: readonly unknown[] | undefined): Webhook | null =>
  row === undefined ? null : (JSON.parse(row[0] as string) as Webhook);
