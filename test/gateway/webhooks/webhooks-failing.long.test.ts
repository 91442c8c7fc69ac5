import assert from "node:assert/strict";
import { cp } from "node:fs/promises";
import path from "node:path";
import type { Entry } from "../../../core/audience/seat.js";
import { newId, type AudienceId, type ProfileId, type WebhookId, type WorkspaceId } from "../../../core/ids.js";
import { EMBEDDED } from "../../support/servers/servers.js";
import { withFolder } from "../../support/faults.js";
import { at, errorPaths, listAt, startApp, textAt, until, useApp, type App } from "../../support/service/app.js";
import { startReceiver, type Receiver } from "../../support/service/receiver.js";

const HOUR_MS = 3_600_000;
const entered = (): Entry => {
  return {
    type: "entered",
    at: Date.now(),
    audienceId: newId<AudienceId>(),
    profileId: newId<ProfileId>(),
    cause: "changed",
    into: null,
  };
};

describe("Webhooks whose receivers fail", () => {
  const ahead = new Map<string, number>();
  const app = useApp({ WEBHOOK_PRIVATE: "1" }, { ahead: (id) => ahead.get(id) ?? 0 });
  let receiver: Receiver;
  beforeEach(async () => {
    receiver = await startReceiver();
  });
  afterEach(() => receiver.close());
  const aWebhook = async () => {
    const workspace = await app().workspace();
    const made = await workspace.send("POST", "/v1/webhooks", { url: receiver.url });
    const id = textAt(made.body, "webhook_id");
    return {
      workspace,
      id,
      append: () => app().service.backends.seats.append(workspace.id as WorkspaceId, newId(), [entered()]),
      read: () => workspace.send("GET", `/v1/webhooks/${id}`),
    };
  };

  it("are tried ever more rarely for three days, with the same bytes, then stop with their place kept", async () => {
    const { workspace, id, append, read } = await aWebhook();
    receiver.answer(500);
    await append();
    const begunAt = Date.now();
    const tries: number[] = [];
    for (;;) {
      const { body } = await until(read, () => receiver.received.length > tries.length);
      assert.equal(receiver.received.length, tries.length + 1, JSON.stringify(body));
      tries.push(ahead.get(workspace.id) ?? 0);
      const noted = await until(
        read,
        (answer) =>
          answer.body["state"] === "stopped" ||
          Date.parse(textAt(answer.body, "next_try_at")) > begunAt + tries.at(-1)!,
      );
      if (noted.body["state"] === "stopped") break;
      assert.deepEqual([noted.body["state"], noted.body["last_error"]], ["failing", "It answered 500."]);
      ahead.set(workspace.id, Date.parse(textAt(noted.body, "next_try_at")) - begunAt);
    }
    const hours = tries.map((ms) => ms / HOUR_MS);
    assert.ok(hours.at(-1)! >= 71.9 && hours.at(-2)! < 72, `${hours.at(-2)} ${hours.at(-1)}`);
    assert.ok(tries.length > 30 && tries.length < 60, `${tries.length} tries`);
    const gaps = tries.slice(1).map((ms, n) => (ms - tries[n]!) / 1_000);
    for (const [n, usual] of [5, 30, 120, 600, 1_800, 3_600, 7_200].entries())
      assert.ok(gaps[n]! > usual * 0.75 && gaps[n]! < usual * 1.25 + 15, `${n}: ${gaps[n]} s`);
    assert.equal(new Set(receiver.received.map(({ text, headers }) => text + headers["webhook-id"]!)).size, 1);
    await append();
    ahead.set(workspace.id, tries.at(-1)! + 24 * HOUR_MS);
    await app().service.keeper!.rest();
    assert.equal(receiver.received.length, tries.length, "nothing more is sent");
    const { body } = await read();
    assert.deepEqual([body["state"], body["delivered"], body["head"]], ["stopped", 0, 2]);
    receiver.answer(200);
    await workspace.send("POST", `/v1/webhooks/${id}/resume`);
    await until(read, (answer) => answer.body["delivered"] === 2);
    assert.deepEqual(receiver.seqs().slice(tries.length), [1, 2]);
  });

  it("hold up nobody else: one that never answers, one that redirects and one that answers without end", async () => {
    const [silent, moved, endless] = [await startReceiver(), await startReceiver(), await startReceiver()];
    try {
      silent.answer(() => undefined);
      moved.answer((_, response) => void response.writeHead(302, { Location: receiver.url }).end());
      endless.answer((_, response) => {
        const more = (): void =>
          void (response.destroyed || response.write(Buffer.alloc(65_536), () => setImmediate(more)));
        more();
      });
      const { workspace, append, read } = await aWebhook();
      const ids = new Map<Receiver, string>();
      for (const one of [silent, moved, endless])
        ids.set(one, textAt((await workspace.send("POST", "/v1/webhooks", { url: one.url })).body, "webhook_id"));
      await append();
      const stateOf = (one: Receiver) => workspace.send("GET", `/v1/webhooks/${ids.get(one)!}`);
      assert.equal((await until(read, ({ body }) => body["delivered"] === 1)).body["delivered"], 1);
      const told = await until(
        () => stateOf(moved),
        ({ body }) => body["state"] === "failing",
      );
      assert.equal(told.body["last_error"], "It answered 302: redirects are not followed.");
      const whole = await until(
        () => stateOf(endless),
        ({ body }) => body["delivered"] === 1,
      );
      assert.equal(whole.body["delivered"], 1, "its status was 200");
      const { body } = await until(
        () => stateOf(silent),
        () => silent.received.length === 1,
      );
      assert.deepEqual([body["delivered"], receiver.received.length], [0, 1], "nobody was led elsewhere");
    } finally {
      await Promise.all([silent, moved, endless].map((one) => one.close()));
    }
  });

  it("stop where the feed ends before what they were told, and say that it was restored", async () => {
    const { workspace, id, append, read } = await aWebhook();
    const own = workspace.id as WorkspaceId;
    await app().service.backends.webhooks.changeWebhook(own, id as WebhookId, (one) => ({ ...one, delivered: 5 }));
    await append();
    const { body } = await until(read, (answer) => answer.body["state"] === "stopped");
    assert.deepEqual([body["state"], body["delivered"], body["head"]], ["stopped", 5, 1]);
    // The keeper may look before the entry stands there.
    assert.match(textAt(body, "last_error"), /^The feed ends at [01], before what was delivered: it was restored /);
    assert.equal(receiver.received.length, 0);
    const resumed = await workspace.send("POST", `/v1/webhooks/${id}/resume`, { after: 0 });
    assert.equal(resumed.status, 200, resumed.text);
    await until(read, (answer) => answer.body["delivered"] === 1);
    assert.deepEqual(receiver.seqs(), [1]);
  });
});

describe("A position in the feed from before a restored backup", () => {
  const identify = async (app: App, key: string, value: string): Promise<string> => {
    const body = { identifiers: [{ namespace: "email", value }] };
    const made = await app.send("POST", "/v1/identify", { key, body });
    await app.service.keeper!.rest();
    return textAt(made.body, "profile_id");
  };
  const during = async <T>(dataDir: string, work: (app: App) => Promise<T>): Promise<T> => {
    const app = await startApp({ ...EMBEDDED, DATA_DIR: dataDir });
    try {
      return await work(app);
    } finally {
      await app.close();
    }
  };

  it("is 409 unknown_position with the end of the feed; members, and the feed behind that, give a true copy", () =>
    withFolder(async (folder) => {
      const [dataDir, backup] = [path.join(folder, "data"), path.join(folder, "backup")];
      const { key, audience, ada } = await during(dataDir, async (app) => {
        const workspace = await app.workspace();
        const body = { name: "everybody", rule: {} };
        const made = await workspace.send("POST", "/v1/audiences", body);
        const owner = await workspace.key("owner");
        return {
          key: owner,
          audience: textAt(made.body, "audience_id"),
          ada: await identify(app, owner, "ada@example.com"),
        };
      });
      await cp(dataDir, backup, { recursive: true });
      const feed = (app: App, after: number) => app.send("GET", `/v1/feed?after=${after}`, { key });
      await during(dataDir, async (app) => {
        for (const value of ["bob@example.com", "cid@example.com"]) await identify(app, key, value);
        assert.equal((await feed(app, 3)).body["head"], 3);
      });
      await during(backup, async (app) => {
        const lost = await feed(app, 3);
        assert.deepEqual(
          [lost.status, lost.body["code"], errorPaths(lost), lost.body["head"]],
          [409, "unknown_position", ["after"], 1],
        );
        const members = await app.send("GET", `/v1/audiences/${audience}/members`, { key });
        assert.deepEqual(
          listAt(members.body, "members").map((one) => textAt(one, "profile_id")),
          [ada],
        );
        const dan = await identify(app, key, "dan@example.com");
        const next = await feed(app, Number(lost.body["head"]));
        assert.deepEqual(
          listAt(next.body, "entries").map((one) => [at(one, "seq"), at(one, "profile_id")]),
          [[2, dan]],
        );
      });
    }));
});
