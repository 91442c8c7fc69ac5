import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../../../core/errors.js";
import type { WebhookId, WorkspaceId } from "../../../core/ids.js";
import type { WebhookStore } from "../../../core/ports/webhook-store.js";
import type { Webhook } from "../../../core/webhook/webhook.js";
import { isDuplicateKey } from "../failure.js";
import type { Mongo } from "../open.js";
import { ownId } from "../own-id.js";
import { createSession } from "../session.js";

interface WebhookDocument {
  /** Of the webhook: see `ownId`. */
  readonly _id: string;
  readonly ws: WorkspaceId;
  readonly id: WebhookId;
  /** Each of a workspace has another one, so no two that are made at once can be too many. */
  readonly slot: number;
  readonly isOpen: boolean;
  /** One more after each change. */
  readonly rev: number;
  /** JSON text. */
  readonly webhook: string;
}

const TRIES_MAX = 50;
const PAUSE_MS_MAX = 20;

const pause = (tries: number): Promise<void> => sleep(Math.random() * Math.min(tries, PAUSE_MS_MAX));
const busy = (): AppError => new AppError("unavailable", "Others keep changing this webhook.");

/** Webhooks, each a document that is changed by compare and swap on its rev. Makes its indexes. */
export async function createMongoWebhookStore({ mongo }: { readonly mongo: Mongo }): Promise<WebhookStore> {
  const session = createSession(mongo);
  const documents = mongo.db.collection<WebhookDocument>("webhooks");
  await session.call(() => documents.createIndex({ ws: 1, slot: 1 }, { name: "slots", unique: true }));
  await session.call(() => documents.createIndex({ isOpen: 1, id: 1 }, { name: "open" }));
  const find = (workspace: WorkspaceId, webhookId: WebhookId) =>
    session.call(() => documents.findOne({ _id: ownId(workspace, webhookId) }));

  return {
    createWebhook: async (webhook, max) => {
      const { workspace, webhookId } = webhook;
      for (let tries = 0; tries < TRIES_MAX; tries += 1) {
        if (tries > 0) await pause(tries);
        const standing = await session.call(() =>
          documents.find({ ws: workspace }, { projection: { id: 1, slot: 1 } }).toArray(),
        );
        if (standing.some(({ id }) => id === webhookId)) return true;
        if (standing.length >= max) return false;
        const taken = new Set(standing.map(({ slot }) => slot));
        let slot = 0;
        while (taken.has(slot)) slot += 1;
        const place = { _id: ownId(workspace, webhookId), ws: workspace, id: webhookId, slot, rev: 1 };
        try {
          await session.call(() => documents.insertOne({ ...place, ...bodyOf(webhook) }));
          return true;
        } catch (error) {
          if (!isDuplicateKey(error)) throw error;
        }
      }
      throw busy();
    },
    findWebhook: async (workspace, webhookId) => toWebhook(await find(workspace, webhookId)),
    webhooks: async (workspace, { limit, after }) => {
      const filter = { _id: { $gt: ownId(workspace, after ?? ""), $lt: `${workspace};` } };
      const found = await session.call(() => documents.find(filter, { sort: { _id: 1 }, limit }).toArray());
      return found.map((one) => toWebhook(one)!);
    },
    changeWebhook: async (workspace, webhookId, change) => {
      for (let tries = 0; tries < TRIES_MAX; tries += 1) {
        if (tries > 0) await pause(tries);
        const found = await find(workspace, webhookId);
        const current = toWebhook(found);
        if (current === null) return null;
        const changed = change(current);
        if (changed === null) return current;
        const { rev } = found!;
        const filter = { _id: ownId(workspace, webhookId), rev };
        const update = { $set: { ...bodyOf(changed), rev: rev + 1 } };
        if ((await session.call(() => documents.updateOne(filter, update))).matchedCount === 1) return changed;
      }
      throw busy();
    },
    deleteWebhook: async (workspace, webhookId) => {
      const gone = await session.call(() => documents.deleteOne({ _id: ownId(workspace, webhookId) }));
      return gone.deletedCount === 1;
    },
    openWebhooks: async ({ limit, after }) => {
      const filter = { isOpen: true, id: { $gt: (after ?? "") as WebhookId } };
      const found = await session.call(() => documents.find(filter, { sort: { id: 1 }, limit }).toArray());
      return found.map((one) => toWebhook(one)!);
    },
    ready: session.ready,
    close: session.close,
  };
}

const bodyOf = (webhook: Webhook) => ({ isOpen: !webhook.isStopped, webhook: JSON.stringify(webhook) });

const toWebhook = (document: WebhookDocument | null): Webhook | null =>
  document === null ? null : (JSON.parse(document.webhook) as Webhook);
