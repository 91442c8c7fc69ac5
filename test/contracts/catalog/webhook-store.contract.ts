import assert from "node:assert/strict";
import { newId, type AudienceId, type TurnId, type WebhookId, type WorkspaceId } from "../../../core/ids.js";
import type { WebhookStore } from "../../../core/ports/webhook-store.js";
import type { Webhook } from "../../../core/webhook/webhook.js";
import { HOSTILE_TEXTS } from "../../support/builders.js";
import type { Contract } from "../../support/contract.js";

const newWorkspace = (): WorkspaceId => newId<WorkspaceId>();
const MAX = 20;

export const aWebhook = (workspace: WorkspaceId, more: Partial<Webhook> = {}): Webhook => ({
  workspace,
  webhookId: newId<WebhookId>(),
  url: "https://hooks.example.com/",
  audienceIds: null,
  types: null,
  createdAt: 5,
  delivered: 0,
  batch: null,
  turn: null,
  failing: null,
  nextTryAt: 0,
  isStopped: false,
  lastError: null,
  replays: 0,
  secretNo: 1,
  oldSecretsUntil: [],
  ...more,
});

const all = { limit: 1_000, after: null };
const idsOf = (found: readonly Webhook[]): readonly WebhookId[] => found.map(({ webhookId }) => webhookId);

export const webhookStoreContract: Contract<WebhookStore> = {
  "stores a webhook, and answers it as it was stored": async ({ port }) => {
    const workspace = newWorkspace();
    for (const text of HOSTILE_TEXTS) {
      const webhook = aWebhook(workspace, {
        url: text,
        audienceIds: [newId<AudienceId>()],
        types: ["left"],
        batch: { first: 2, last: 3 },
        turn: { turnId: newId<TurnId>(), by: text, until: 7 },
        failing: { since: 1, tries: 2 },
        lastError: { at: 3, text },
        oldSecretsUntil: [9, 8],
      });
      assert.equal(await port.createWebhook(webhook, 100), true);
      assert.deepEqual(await port.findWebhook(workspace, webhook.webhookId), webhook);
    }
    assert.equal(await port.findWebhook(workspace, newId()), null);
  },

  "answers false and stores nothing where its workspace has max already, also of many that are made at once": async ({
    port,
  }) => {
    const workspace = newWorkspace();
    const made = Array.from({ length: MAX + 6 }, () => aWebhook(workspace));
    const stored = await Promise.all(made.map((one) => port.createWebhook(one, MAX)));
    assert.equal(stored.filter(Boolean).length, MAX);
    const standing = await port.webhooks(workspace, all);
    assert.deepEqual(idsOf(standing), idsOf(made.filter((_, n) => stored[n])).toSorted());
    assert.equal(await port.createWebhook(aWebhook(newWorkspace()), MAX), true);
    assert.equal(await port.deleteWebhook(workspace, standing[3]!.webhookId), true);
    assert.equal(await port.createWebhook(aWebhook(workspace), MAX), true);
    assert.equal(await port.createWebhook(aWebhook(workspace), MAX), false);
  },

  "one that stands stays as it stands": async ({ port }) => {
    const webhook = aWebhook(newWorkspace());
    await port.createWebhook(webhook, MAX);
    assert.equal(await port.createWebhook({ ...webhook, delivered: 5 }, MAX), true);
    assert.deepEqual(await port.webhooks(webhook.workspace, all), [webhook]);
  },

  "pages through the webhooks of a workspace by id": async ({ port }) => {
    const workspace = newWorkspace();
    const made = Array.from({ length: 5 }, () => aWebhook(workspace));
    for (const one of made.toReversed()) await port.createWebhook(one, MAX);
    const first = await port.webhooks(workspace, { limit: 3, after: null });
    const second = await port.webhooks(workspace, { limit: 3, after: first.at(-1)!.webhookId });
    assert.deepEqual([...first, ...second], made);
  },

  "changes in one step, so that many changes at once all stand, and answers what stands then": async ({ port }) => {
    const webhook = aWebhook(newWorkspace());
    await port.createWebhook(webhook, MAX);
    const { workspace, webhookId } = webhook;
    const more = (one: Webhook): Webhook => ({ ...one, delivered: one.delivered + 1 });
    const answers = await Promise.all(Array.from({ length: 12 }, () => port.changeWebhook(workspace, webhookId, more)));
    const numbers = answers.map((one) => one!.delivered).toSorted((a, b) => a - b);
    assert.deepEqual(
      numbers,
      Array.from({ length: 12 }, (_, n) => n + 1),
    );
    assert.equal((await port.findWebhook(workspace, webhookId))!.delivered, 12);
    assert.equal(await port.changeWebhook(workspace, newId(), more), null);
  },

  "changes nothing when the change answers null or throws, and throws what it threw": async ({ port }) => {
    const webhook = aWebhook(newWorkspace());
    await port.createWebhook(webhook, MAX);
    const { workspace, webhookId } = webhook;
    assert.deepEqual(await port.changeWebhook(workspace, webhookId, () => null), webhook);
    const failure = new Error("no");
    const refuse = () => {
      throw failure;
    };
    await assert.rejects(port.changeWebhook(workspace, webhookId, refuse), failure);
    assert.deepEqual(await port.findWebhook(workspace, webhookId), webhook);
  },

  "deletes one, and answers whether there was one": async ({ port }) => {
    const webhook = aWebhook(newWorkspace());
    await port.createWebhook(webhook, MAX);
    assert.equal(await port.deleteWebhook(webhook.workspace, webhook.webhookId), true);
    assert.equal(await port.deleteWebhook(webhook.workspace, webhook.webhookId), false);
    assert.equal(await port.findWebhook(webhook.workspace, webhook.webhookId), null);
    assert.deepEqual(await port.openWebhooks(all), []);
  },

  "answers those that are not stopped, of all workspaces, by id, in pages": async ({ port }) => {
    const made = Array.from({ length: 6 }, (_, n) => aWebhook(newWorkspace(), { isStopped: n === 2 }));
    for (const one of made.toReversed()) await port.createWebhook(one, MAX);
    const stopping = made[4]!;
    await port.changeWebhook(stopping.workspace, stopping.webhookId, (one) => ({ ...one, isStopped: true }));
    const first = await port.openWebhooks({ limit: 2, after: null });
    const second = await port.openWebhooks({ limit: 9, after: first.at(-1)!.webhookId });
    assert.deepEqual(idsOf([...first, ...second]), idsOf(made.filter((_, n) => n !== 2 && n !== 4)));
    await port.changeWebhook(stopping.workspace, stopping.webhookId, (one) => ({ ...one, isStopped: false }));
    assert.ok(idsOf(await port.openWebhooks(all)).includes(stopping.webhookId));
  },

  "findWebhook, webhooks, changeWebhook and deleteWebhook keep workspaces apart": async ({ port }) => {
    const webhook = aWebhook(newWorkspace());
    const other = newWorkspace();
    await port.createWebhook(webhook, MAX);
    assert.equal(await port.findWebhook(other, webhook.webhookId), null);
    assert.deepEqual(await port.webhooks(other, all), []);
    assert.equal(await port.changeWebhook(other, webhook.webhookId, (one) => ({ ...one, delivered: 9 })), null);
    assert.equal(await port.deleteWebhook(other, webhook.webhookId), false);
    assert.deepEqual(await port.findWebhook(webhook.workspace, webhook.webhookId), webhook);
  },

  "keeps webhooks across close and reopen": async ({ port, reopen }) => {
    const webhook = aWebhook(newWorkspace());
    await port.createWebhook(webhook, MAX);
    assert.deepEqual(await (await reopen()).findWebhook(webhook.workspace, webhook.webhookId), webhook);
  },

  "is ready while it is open, and may be closed twice": async ({ port }) => {
    await port.ready();
    await port.close();
    await port.close();
  },

  "refuses every method after close as unavailable": async ({ port }) => {
    await port.close();
    const [workspace, id] = [newWorkspace(), newId<WebhookId>()];
    const isAway = { code: "unavailable" };
    await assert.rejects(port.createWebhook(aWebhook(workspace), MAX), isAway);
    await assert.rejects(port.findWebhook(workspace, id), isAway);
    await assert.rejects(port.webhooks(workspace, all), isAway);
    await assert.rejects(
      port.changeWebhook(workspace, id, () => null),
      isAway,
    );
    await assert.rejects(port.deleteWebhook(workspace, id), isAway);
    await assert.rejects(port.openWebhooks(all), isAway);
  },
};
