import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { Webhook as Verifier } from "standardwebhooks";
import { newId, type WebhookId, type WorkspaceId } from "../../../core/ids.js";
import { shownSecret, signedHeaders } from "../../../core/webhook/signature.js";
import { OLD_SECRET_MS, rotated, type Webhook } from "../../../core/webhook/webhook.js";
import { aWebhook } from "../../contracts/catalog/webhook-store.contract.js";

const INSTALLATION = Buffer.alloc(32, 7);
const MESSAGE = { id: "w:1", body: '{"entries":[]}', at: 1_772_359_200_999 };
const webhook = aWebhook(newId<WorkspaceId>(), { webhookId: newId<WebhookId>() });

const signaturesOf = (one: Webhook, more: Partial<typeof MESSAGE> = {}, installation = INSTALLATION) =>
  signedHeaders(installation, one, { ...MESSAGE, ...more })["webhook-signature"]!.split(" ");
const signedBy = (secret: string): string => new Verifier(secret).sign(MESSAGE.id, new Date(MESSAGE.at), MESSAGE.body);

describe("The signature of a webhook", () => {
  it("is that of Standard Webhooks over id, second and body, with the secret that was shown", () => {
    const headers = signedHeaders(INSTALLATION, webhook, MESSAGE);
    assert.deepEqual(headers, {
      "webhook-id": "w:1",
      "webhook-timestamp": "1772359200",
      "webhook-signature": signedBy(shownSecret(INSTALLATION, webhook)),
    });
  });

  it("is another one for another id, second or body", () => {
    const all = [{}, { id: "w:2" }, { at: MESSAGE.at + 1 }, { body: "{}" }].map(
      (more) => signaturesOf(webhook, more)[0],
    );
    assert.equal(new Set(all).size, 4);
    assert.deepEqual(signaturesOf(webhook, { at: MESSAGE.at - 999 }), signaturesOf(webhook), "the same second");
  });

  it("has a secret of its own for each installation, workspace, webhook and number, and it is nothing that is signed elsewhere", () => {
    const others: readonly (readonly [Buffer, Webhook])[] = [
      [INSTALLATION, webhook],
      [Buffer.alloc(32, 8), webhook],
      [INSTALLATION, { ...webhook, workspace: newId<WorkspaceId>() }],
      [INSTALLATION, { ...webhook, webhookId: newId<WebhookId>() }],
      [INSTALLATION, { ...webhook, secretNo: 2 }],
    ];
    const secrets = others.map(([installation, one]) => shownSecret(installation, one));
    assert.equal(new Set(secrets).size, others.length);
    const { workspace, webhookId } = webhook;
    const named = createHmac("sha256", INSTALLATION).update(JSON.stringify(["webhook", workspace, webhookId, 1]));
    // Without the word, the HMAC of another list of ids would be a receiver's secret.
    assert.equal(secrets[0], `whsec_${named.digest("base64")}`);
  });

  it("is given with the secret before as well until a day after the rotation, to the millisecond, and with none before that", () => {
    const once = rotated(webhook, MESSAGE.at);
    const [first, second] = [webhook, once].map((one) => signedBy(shownSecret(INSTALLATION, one)));
    assert.deepEqual(signaturesOf(webhook), [first]);
    assert.deepEqual(signaturesOf(once), [second, first]);
    const last = MESSAGE.at + OLD_SECRET_MS;
    assert.equal(signaturesOf(once, { at: last - 1 }).length, 2);
    assert.equal(signaturesOf(once, { at: last }).length, 1);
  });

  it("is given with each secret before for its own day, however often it is rotated in that day", () => {
    const secondOf = (one: Webhook) => signedBy(shownSecret(INSTALLATION, one));
    const once = rotated(webhook, MESSAGE.at);
    const twice = rotated(once, MESSAGE.at + 1_000);
    assert.deepEqual(signaturesOf(twice), [twice, once, webhook].map(secondOf));
    const ends = MESSAGE.at + OLD_SECRET_MS;
    assert.equal(signaturesOf(twice, { at: ends - 1 }).length, 3);
    assert.equal(signaturesOf(twice, { at: ends }).length, 2);
    assert.equal(signaturesOf(twice, { at: ends + 1_000 }).length, 1);
    const often = Array.from({ length: 30 }).reduce<Webhook>((one) => rotated(one, MESSAGE.at), webhook);
    assert.equal(signaturesOf(often).length, 10, "a header has an end");
  });

  it("is given with the secret whose day is not over, also if a later one's is, because the clock was set back", () => {
    const ahead = rotated(webhook, MESSAGE.at + OLD_SECRET_MS);
    const back = rotated(ahead, MESSAGE.at - OLD_SECRET_MS);
    const secretOf = (one: Webhook) => signedBy(shownSecret(INSTALLATION, one));
    assert.deepEqual(signaturesOf(back), [back, webhook].map(secretOf));
    assert.deepEqual(signaturesOf(rotated(back, MESSAGE.at)).slice(1), [back, webhook].map(secretOf));
  });
});
