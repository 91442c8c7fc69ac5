import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Entry } from "../../core/audience/seat.js";
import { silentLog } from "../../app/logger.js";
import { AppError } from "../../core/errors.js";
import { newId, type AudienceId, type ProfileId, type TurnId, type WorkspaceId } from "../../core/ids.js";
import { NO_METRICS } from "../../core/metrics.js";
import type { WebhookStore } from "../../core/ports/webhook-store.js";
import type { Message, Posted } from "../../core/webhook/outbound.js";
import { isFree, resumed, withTurn, type Webhook } from "../../core/webhook/webhook.js";
import { deliverNext, type DeliverDeps } from "../../keeper/webhooks/deliver.js";
import { createWebhookTask } from "../../keeper/webhooks/task.js";
import { aWebhook } from "../contracts/catalog/webhook-store.contract.js";
import { webhookBackends } from "../support/backends.js";
import { soon } from "../support/eventually.js";

const OK: Posted = { status: 200, error: null, retryAfter: null };
const FAILED: Posted = { status: 500, error: "It answered 500.", retryAfter: null };
const SECRET = Buffer.alloc(32, 1);
const never = new AbortController().signal;

const entered = (audienceId: AudienceId = newId<AudienceId>()): Entry => {
  return { type: "entered", at: 5, audienceId, profileId: newId<ProfileId>(), cause: "changed", into: null };
};
const numbersIn = ({ body }: Message): readonly number[] =>
  (JSON.parse(body) as { readonly entries: readonly { readonly seq: number }[] }).entries.map(({ seq }) => seq);

/** Two keepers at one webhook, each of which has read it before the other did something. */
for (const backend of webhookBackends)
  describe(`Two keepers that push one webhook forward (${backend.name})`, () => {
    let place: Awaited<ReturnType<typeof backend.place>>;
    let webhooks: WebhookStore;
    let feed: Entry[] = [];
    let oldest = 1;
    let at = 1_000_000;
    let sent: Message[] = [];
    before(async () => {
      place = await backend.place();
      webhooks = await place.open();
    });
    after(async () => {
      await webhooks.close();
      await place.drop();
    });
    beforeEach(() => {
      [feed, oldest, at, sent] = [[], 1, 1_000_000, []];
    });

    /** `saw`: as much of the feed stood there when it read; `post`: what comes of what it sends. */
    const keeper = (
      by: string,
      { saw = () => feed.length, post = async () => OK }: { saw?: () => number; post?: () => Promise<Posted> } = {},
    ): DeliverDeps =>
      ({
        webhooks,
        seats: {
          feed: async (_: WorkspaceId, after: number, limit: number) => {
            const numbered = feed.slice(0, saw()).map((entry, n) => ({ seq: n + 1, entry }));
            const kept = numbered.filter(({ seq }) => seq >= oldest && seq > after);
            return { entries: kept.slice(0, limit), head: saw(), oldest };
          },
        },
        catalog: { secret: () => Promise.resolve(SECRET) },
        outbound: {
          check: () => null,
          post: (message: Message) => {
            sent.push(message);
            return post();
          },
        },
        now: () => at,
        metrics: NO_METRICS,
        by,
        isFree: (webhook: Webhook) => isFree(webhook, (_, until) => until <= at),
        random: () => 0.5,
      }) as unknown as DeliverDeps;
    /** The task of a process of its own, which sees this one alone. */
    const taskOf = (webhook: Webhook, deps: DeliverDeps, steady: () => number) =>
      createWebhookTask({
        ...deps,
        seats: { ...deps.seats, sizes: async () => ({ head: feed.length }) } as unknown as DeliverDeps["seats"],
        webhooks: { ...webhooks, openWebhooks: async () => [(await now(webhook))!] },
        log: silentLog,
        isAlone: false,
        steady,
      });
    const made = async (more: Partial<Webhook> = {}): Promise<Webhook> => {
      const webhook = aWebhook(newId<WorkspaceId>(), more);
      await webhooks.createWebhook(webhook, 20);
      return webhook;
    };
    const now = ({ workspace, webhookId }: Webhook) => webhooks.findWebhook(workspace, webhookId);
    const deliver = (deps: DeliverDeps, seen: Webhook) => deliverNext(deps, seen, never);

    it("what is sent again is the same, byte for byte, also by one that has read more of the feed", async () => {
      const webhook = await made();
      feed = [entered(), entered()];
      await deliver(keeper("one", { post: async () => FAILED }), webhook);
      feed.push(entered());
      at += 3_600_000;
      // It read the webhook before the other began.
      assert.equal(await deliver(keeper("two"), webhook), null);
      await deliver(keeper("two"), (await now(webhook))!);
      assert.deepEqual(sent.map(numbersIn), [
        [1, 2],
        [1, 2],
      ]);
      assert.equal(sent[0]!.body, sent[1]!.body);
    });

    it("while one sends the other does not, nor before the time of the next try", async () => {
      const webhook = await made();
      feed = [entered()];
      const other = keeper("two");
      await deliver(
        keeper("one", { post: async () => deliver(other, (await now(webhook))!).then(() => FAILED) }),
        webhook,
      );
      assert.equal(sent.length, 1);
      await deliver(other, (await now(webhook))!);
      assert.equal(sent.length, 1);
      at += 6_001;
      await deliver(other, (await now(webhook))!);
      assert.deepEqual([sent.length, (await now(webhook))!.delivered], [2, 1]);
    });

    /** Whether the other sends after so many milliseconds of seeing it, and not before, while the service's time stands still. */
    const sendsAfter = async (webhook: Webhook, ms: number): Promise<void> => {
      const steady = { ms: 0 };
      const task = taskOf(webhook, keeper("two"), () => steady.ms);
      const before = sent.length;
      for (const seenMs of [0, ms - 1]) {
        steady.ms = seenMs;
        await task.step();
        await sleep(20);
        assert.equal(sent.length, before, `after ${seenMs} ms`);
      }
      steady.ms = ms;
      await task.step();
      await soon(async () => assert.equal((await now(webhook))!.delivered, 1));
      assert.equal(sent.length, before + 1);
      await task.close();
    };

    it("what failed is tried again also while time stands still", async () => {
      const webhook = await made();
      feed = [entered()];
      await deliver(keeper("one", { post: async () => FAILED }), webhook);
      await sendsAfter(webhook, 5_000);
    });

    it("what a dead one was sending is sent also while time stands still", async () => {
      const webhook = await made();
      feed = [entered()];
      const turn = { turnId: newId<TurnId>(), by: "dead", until: at + 20_000 };
      await webhooks.changeWebhook(webhook.workspace, webhook.webhookId, (current) =>
        withTurn(current, { first: 1, last: 1 }, turn),
      );
      await sendsAfter(webhook, 20_000);
    });

    it("a workspace whose feed cannot be read holds up no other one, and the log says so once", async () => {
      const [damaged, behind] = [await made(), await made()];
      feed = [entered()];
      const told: unknown[] = [];
      let asked = 0;
      const sizes = async (workspace: WorkspaceId) => {
        if (workspace !== damaged.workspace) return { head: feed.length };
        asked += 1;
        throw new AppError("damaged", "A stored record is damaged: feeds.");
      };
      const deps = keeper("one");
      const task = createWebhookTask({
        ...deps,
        seats: { ...deps.seats, sizes } as unknown as DeliverDeps["seats"],
        webhooks: { ...webhooks, openWebhooks: async () => [damaged, behind] },
        log: { ...silentLog, error: (fields) => void told.push(fields["workspace"]) },
        isAlone: true,
      });
      await task.step();
      await task.step();
      await soon(async () => assert.equal((await now(behind))!.delivered, 1));
      await task.close();
      assert.deepEqual([told, asked], [[damaged.workspace], 1]);
    });

    it("a webhook whose feed cannot be read waits, and the log says so once", async () => {
      const webhook = await made();
      feed = [entered()];
      const told: unknown[] = [];
      const deps = keeper("one");
      const damaged = async () => {
        throw new AppError("damaged", "A stored record is damaged: feed.");
      };
      const seats = { feed: damaged, sizes: async () => ({ head: feed.length }) } as unknown as DeliverDeps["seats"];
      const task = createWebhookTask({
        ...deps,
        seats,
        webhooks: { ...webhooks, openWebhooks: async () => [webhook] },
        log: { ...silentLog, error: (fields) => void told.push(fields["webhookId"]) },
        isAlone: true,
      });
      for (let n = 0; n < 10; n += 1) {
        await task.step();
        await sleep(1);
      }
      await task.close();
      assert.deepEqual(told, [webhook.webhookId]);
    });

    it("one passes over what is not wanted while the other sends what came behind that: it is told once", async () => {
      const audienceId = newId<AudienceId>();
      const webhook = await made({ audienceIds: [audienceId] });
      feed = [entered(), entered(), entered(audienceId)];
      const late = keeper("one", { saw: () => 2 });
      await deliver(keeper("two", { post: () => deliver(late, webhook).then(() => OK) }), webhook);
      assert.deepEqual(sent.map(numbersIn), [[3]]);
      const { delivered, batch, turn } = (await now(webhook))!;
      assert.deepEqual([delivered, batch, turn], [3, null, null]);
    });

    it("what is trimmed while it is sent is passed over, whatever the receiver says", async () => {
      const webhook = await made();
      feed = [entered(), entered(), entered()];
      const other = keeper("two");
      const trim = async (): Promise<Posted> => {
        oldest = 3;
        await deliver(other, (await now(webhook))!);
        return FAILED;
      };
      const first = keeper("one", { saw: () => 2, post: trim });
      await deliver(first, webhook);
      const { delivered, batch, turn, failing } = (await now(webhook))!;
      assert.deepEqual([delivered, batch, turn, failing], [2, null, null, null]);
      await deliver(other, (await now(webhook))!);
      assert.deepEqual(sent.map(numbersIn), [[1, 2], [3]]);
    });

    it("one that comes late leaves alone what was delivered since, set back, or stopped", async () => {
      feed = [entered(), entered()];
      const delivered = await made();
      await deliver(keeper("one"), delivered);
      assert.equal(await deliver(keeper("two"), delivered), null);
      assert.deepEqual(sent.map(numbersIn), [[1, 2]]);

      // When it read the feed, that was shorter: it was restored, has grown since, and somebody resumed behind that very number.
      const restored = await made({ delivered: 2 });
      await webhooks.changeWebhook(restored.workspace, restored.webhookId, (one) => resumed(one, 2));
      assert.equal(await deliver(keeper("two", { saw: () => 1 }), restored), null);
      assert.equal((await now(restored))!.isStopped, false);

      const stopped = await made();
      await deliver(keeper("one", { post: async () => ({ ...FAILED, status: 410 }) }), stopped);
      oldest = 2;
      assert.equal(await deliver(keeper("two"), stopped), null);
      const { isStopped, delivered: at0, lastError } = (await now(stopped))!;
      assert.deepEqual([isStopped, at0, lastError?.text], [true, 0, FAILED.error]);
    });

    it("what was under way when the process ended is no failure: it is sent again when its turn is over", async () => {
      const webhook = await made();
      feed = [entered()];
      const ending = new AbortController();
      const cut = async (): Promise<Posted> => {
        ending.abort();
        return { status: null, error: "It was cut off.", retryAfter: null };
      };
      assert.equal(await deliverNext(keeper("one", { post: cut }), webhook, ending.signal), null);
      const left = (await now(webhook))!;
      assert.deepEqual([left.failing, left.nextTryAt, left.delivered], [null, 0, 0]);
      at += 20_001;
      await deliver(keeper("two"), left);
      assert.deepEqual(sent.map(numbersIn), [[1], [1]]);
      assert.equal((await now(webhook))!.delivered, 1);
    });
  });
