import assert from "node:assert/strict";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { newId, type WebhookId, type WorkspaceId } from "../../../core/ids.js";
import { openEmbedded, type EmbeddedStore } from "../../../store/embedded/open.js";
import { createEmbeddedWebhookStore } from "../../../store/embedded/webhooks/webhooks.js";
import { aWebhook } from "../../contracts/catalog/webhook-store.contract.js";
import { onError, temporaryFolder } from "../../support/backends.js";
import { isAppError } from "../../support/errors.js";

describe("A damaged page of webhooks", () => {
  const webhooks = Array.from({ length: 100 }, (_, n) =>
    aWebhook(newId<WorkspaceId>(), { url: `https://hooks.example.com/${n}/of/them` }),
  );
  let folder: string;
  let store: EmbeddedStore;
  const told: string[] = [];
  const open = async (tell: (message: string, error: unknown) => void) => {
    store = await openEmbedded({ dataDir: folder, checkpointMs: 60_000, onError: tell });
    return createEmbeddedWebhookStore(store);
  };

  before(async () => {
    folder = await temporaryFolder();
    const port = await open(onError);
    for (const webhook of webhooks) await port.createWebhook(webhook, 20);
    await store.close();
    const file = join(folder, "onym.db");
    const bytes = await readFile(file);
    bytes[bytes.indexOf("/50/of/them")]! ^= 1;
    await writeFile(file, bytes);
  });
  after(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });

  it("is passed over by the walk of those that are open, and told of once for each that stands on it", async () => {
    const port = await open((message) => void told.push(message));
    const readable: WebhookId[] = [];
    for (const { workspace, webhookId } of webhooks)
      await port.findWebhook(workspace, webhookId).then(
        () => readable.push(webhookId),
        (error) => assert.ok(isAppError("damaged")(error), String(error)),
      );
    const lost = webhooks.length - readable.length;
    assert.ok(lost > 0 && lost < 20, `${lost} stand on it`);
    told.length = 0;
    for (let round = 0; round < 3; round += 1) {
      const seen: WebhookId[] = [];
      for (let after: WebhookId | null = null; ;) {
        const page: readonly { readonly webhookId: WebhookId }[] = await port.openWebhooks({ limit: 7, after });
        seen.push(...page.map(({ webhookId }) => webhookId));
        if (page.length < 7) break;
        after = page.at(-1)!.webhookId;
      }
      assert.deepEqual(seen, readable);
    }
    // The list itself, and each of them.
    assert.equal(told.length, 1 + lost, told.join("; "));
  });
});
