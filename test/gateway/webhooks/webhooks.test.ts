import assert from "node:assert/strict";
import { Webhook as Verifier } from "standardwebhooks";
import type { Entry } from "../../../core/audience/seat.js";
import { newId, type AudienceId, type ProfileId, type WebhookId, type WorkspaceId } from "../../../core/ids.js";
import { errorPaths, listAt, textAt, until, useApp, type TestWorkspace } from "../../support/service/app.js";
import { startReceiver, type Received, type Receiver } from "../../support/service/receiver.js";

const DAY_MS = 86_400_000;

/** Of now: the keeper forgets old ones, perhaps in the middle of a test. */
const entered = (audienceId: AudienceId = newId()): Entry => {
  return { type: "entered", at: Date.now(), audienceId, profileId: newId<ProfileId>(), cause: "changed", into: null };
};

/** As receivers do: by the package of Standard Webhooks. Throws where a signature is wrong or too old. */
const verify = (secret: string, { text, headers }: Received): unknown => new Verifier(secret).verify(text, headers);

describe("Webhooks", () => {
  const ahead = new Map<string, number>();
  const app = useApp({ WEBHOOK_PRIVATE: "1" }, { ahead: (id) => ahead.get(id) ?? 0 });
  let workspace: TestWorkspace;
  let receiver: Receiver;
  beforeEach(async () => {
    workspace = await app().workspace();
    receiver = await startReceiver();
  });
  afterEach(() => receiver.close());
  const append = (...entries: readonly Entry[]) =>
    app().service.backends.seats.append(workspace.id as WorkspaceId, newId(), entries);
  const create = (more: object = {}) => workspace.as("admin", "POST", "/v1/webhooks", { url: receiver.url, ...more });
  const read = (id: string) => workspace.as("admin", "GET", `/v1/webhooks/${id}`);
  const isAt = (id: string, delivered: number) =>
    until(
      () => read(id),
      ({ body }) => body["delivered"] === delivered,
    );

  it("is created with a secret that is shown once, begins at the end of the feed, and is listed and read", async () => {
    await append(entered(), entered());
    const made = await create();
    assert.equal(made.status, 201, made.text);
    const { secret, ...shown } = made.body;
    assert.match(String(secret), /^whsec_[A-Za-z0-9+/]{43}=$/);
    const id = textAt(shown, "webhook_id");
    assert.deepEqual(shown, {
      webhook_id: id,
      url: receiver.url,
      audience_ids: null,
      types: null,
      state: "active",
      delivered: 2,
      head: 2,
      last_error: null,
      last_error_at: null,
      failing_since: null,
      next_try_at: null,
      created_at: shown["created_at"],
    });
    assert.deepEqual((await read(id)).body, shown);
    const second = await create();
    assert.notEqual(second.body["secret"], secret);
    const listed = await workspace.as("admin", "GET", "/v1/webhooks?limit=1");
    assert.deepEqual(listAt(listed.body, "webhooks"), [shown]);
    const next = await workspace.as(
      "admin",
      "GET",
      `/v1/webhooks?limit=1&cursor=${textAt(listed.body, "next_cursor")}`,
    );
    assert.equal(textAt(listAt(next.body, "webhooks")[0], "webhook_id"), second.body["webhook_id"]);
    assert.ok(!app().records.some((record) => record.includes(receiver.url)), "no log names the address");
  });

  it("is sent what comes next, in order, at most 100 entries at once, with headers that standardwebhooks verifies", async () => {
    const made = await create();
    const [id, secret] = [textAt(made.body, "webhook_id"), textAt(made.body, "secret")];
    await append(...Array.from({ length: 150 }, () => entered()));
    assert.equal((await isAt(id, 150)).body["delivered"], 150);
    await append(entered());
    await isAt(id, 151);
    assert.deepEqual(
      receiver.seqs(),
      Array.from({ length: 151 }, (_, n) => n + 1),
    );
    assert.deepEqual(
      receiver.received.map(({ body, headers }) => [
        body.webhook_id,
        body.first_seq,
        body.last_seq,
        headers["webhook-id"],
      ]),
      [
        [id, 1, 100, `${id}:1`],
        [id, 101, 150, `${id}:101`],
        [id, 151, 151, `${id}:151`],
      ],
    );
    const [first] = receiver.received;
    assert.deepEqual(verify(secret, first!), first!.body);
    assert.throws(() => verify(secret, { ...first!, text: first!.text.replace("entered", "left") }));
    const other = await create();
    assert.throws(() => verify(textAt(other.body, "secret"), first!));
    const feed = await workspace.send("GET", "/v1/feed?limit=1000");
    assert.deepEqual(
      receiver.received.flatMap(({ body }) => body.entries),
      listAt(feed.body, "entries"),
    );
  });

  it("is told of people by events that were sent, and only of its audiences and types", async () => {
    const schemaId = await workspace.schema();
    const ids = await Promise.all(
      ["London", "Paris"].map(async (city) => {
        const made = await workspace.send("POST", "/v1/audiences", { name: city, rule: { "traits.city": city } });
        return textAt(made.body, "audience_id");
      }),
    );
    const made = await create({ audience_ids: [ids[1]], types: ["entered"] });
    for (const city of ["London", "Paris", "London", "Paris"]) {
      const sent = await workspace.collect(schemaId, { email: "ada@example.com", city });
      await workspace.settled(sent.body["event_id"]);
      await app().service.keeper!.rest();
    }
    const { head } = (await workspace.send("GET", "/v1/feed")).body;
    assert.equal(head, 7);
    await isAt(textAt(made.body, "webhook_id"), 7);
    const told = receiver.received.flatMap(({ body }) => body.entries);
    assert.deepEqual(
      told.map(({ type, audience_id: audience }) => [type, audience]),
      [
        ["entered", ids[1]],
        ["entered", ids[1]],
      ],
    );
  });

  it("replays from an earlier number under other message ids, and refuses one that the feed has not", async () => {
    await append(entered(), entered(), entered());
    const made = await create({ after: 0 });
    const id = textAt(made.body, "webhook_id");
    await isAt(id, 3);
    const resumed = await workspace.as("admin", "POST", `/v1/webhooks/${id}/resume`, { after: 1 });
    assert.deepEqual([resumed.status, resumed.body["delivered"]], [200, 1]);
    await isAt(id, 3);
    assert.deepEqual(receiver.seqs(), [1, 2, 3, 2, 3]);
    assert.equal(receiver.received.at(-1)!.headers["webhook-id"], `${id}:2:1`);
    const beyond = await workspace.as("admin", "POST", `/v1/webhooks/${id}/resume`, { after: 4 });
    assert.deepEqual([beyond.status, beyond.body["code"], errorPaths(beyond)], [409, "unknown_position", ["after"]]);
    // It stands behind the end of the feed, as after a backup was restored: only a number says where it is to go on.
    const { webhooks } = app().service.backends;
    await webhooks.changeWebhook(workspace.id as WorkspaceId, id as WebhookId, (current) => {
      return { ...current, delivered: 9, isStopped: true };
    });
    const nowhere = await workspace.as("admin", "POST", `/v1/webhooks/${id}/resume`, {});
    assert.deepEqual([nowhere.status, nowhere.body["code"]], [409, "unknown_position"]);
    const made2 = await create({ after: 4 });
    assert.deepEqual([made2.status, made2.body["code"]], [409, "unknown_position"]);
  });

  it("after 0 begins with the oldest entry that is kept, also where the first ones are forgotten", async () => {
    const own = workspace.id as WorkspaceId;
    await append({ ...entered(), at: 1 });
    await append({ ...entered(), at: 2 });
    await append(entered());
    // The keeper may have been first.
    await app().service.backends.seats.trim(own, 3, 100);
    const made = await create({ after: 0 });
    assert.equal(made.status, 201, made.text);
    const id = textAt(made.body, "webhook_id");
    await isAt(id, 3);
    assert.equal((await workspace.as("admin", "POST", `/v1/webhooks/${id}/resume`, { after: 0 })).status, 200);
    await until(
      () => read(id),
      () => receiver.seqs().length === 2,
    );
    assert.deepEqual(receiver.seqs(), [3, 3]);
    assert.equal((await read(id)).body["last_error"], null);
    const gone = await create({ after: 1 });
    assert.deepEqual([gone.status, gone.body["code"]], [410, "feed_trimmed"]);
  });

  it("signs with the old secret as well for a day after a rotation", async () => {
    const made = await create();
    const id = textAt(made.body, "webhook_id");
    const rotated = await workspace.as("admin", "POST", `/v1/webhooks/${id}/rotate`);
    assert.equal(rotated.status, 200);
    const [old, young] = [textAt(made.body, "secret"), textAt(rotated.body, "secret")];
    assert.notEqual(old, young);
    await append(entered());
    await isAt(id, 1);
    const [both] = receiver.received;
    assert.equal(both!.headers["webhook-signature"]!.split(" ").length, 2);
    for (const secret of [old, young]) verify(secret, both!);
    ahead.set(workspace.id, DAY_MS + 1);
    await append(entered());
    await isAt(id, 2);
    const one = receiver.received[1]!;
    assert.equal(one.headers["webhook-signature"]!.split(" ").length, 1);
    // By the clock of the test that message is from tomorrow, which the package refuses: so only the signature is looked at.
    const at = new Date(Number(one.headers["webhook-timestamp"]) * 1_000);
    assert.equal(new Verifier(young).sign(one.headers["webhook-id"]!, at, one.text), one.headers["webhook-signature"]);
  });

  it("is tested by a batch without entries, and says what came back", async () => {
    const made = await create();
    const id = textAt(made.body, "webhook_id");
    const test = () => workspace.as("admin", "POST", `/v1/webhooks/${id}/test`);
    assert.deepEqual((await test()).body, { status: 200, error: null });
    const [sent] = receiver.received;
    assert.deepEqual(verify(textAt(made.body, "secret"), sent!), {
      webhook_id: id,
      first_seq: 1,
      last_seq: 0,
      entries: [],
    });
    assert.notEqual(sent!.headers["webhook-id"], `${id}:1`);
    receiver.answer(503);
    assert.deepEqual((await test()).body, { status: 503, error: "It answered 503." });
    assert.equal((await read(id)).body["state"], "active");
    await receiver.close();
    assert.deepEqual((await test()).body, { status: null, error: "The connection failed (ECONNREFUSED)." });
    receiver = await startReceiver();
  });

  it("takes four tests at once of a workspace, and refuses the fifth with 429", async () => {
    const made = await create();
    const target = `/v1/webhooks/${textAt(made.body, "webhook_id")}/test`;
    const waiting: (() => void)[] = [];
    receiver.answer((_, response) => waiting.push(() => void response.end()));
    const four = Array.from({ length: 4 }, () => workspace.as("admin", "POST", target));
    await until(
      async () => ({ status: waiting.length, headers: {}, text: "", body: {} }),
      ({ status }) => status === 4,
    );
    const fifth = await workspace.as("admin", "POST", target);
    assert.deepEqual([fifth.status, fifth.headers["retry-after"]], [429, "15"]);
    for (const answer of waiting) answer();
    assert.deepEqual(
      (await Promise.all(four)).map(({ body }) => body["status"]),
      [200, 200, 200, 200],
    );
    receiver.answer(200);
    assert.equal((await workspace.as("admin", "POST", target)).status, 200);
  });

  it("stops at 410 with its cursor kept, and goes on when it is resumed", async () => {
    const made = await create();
    const id = textAt(made.body, "webhook_id");
    receiver.answer(410);
    await append(entered());
    const { body } = await until(
      () => read(id),
      (answer) => answer.body["state"] === "stopped",
    );
    assert.deepEqual([body["state"], body["delivered"], body["last_error"]], ["stopped", 0, "It answered 410."]);
    receiver.answer(200);
    const resumed = await workspace.as("admin", "POST", `/v1/webhooks/${id}/resume`);
    assert.equal(resumed.body["state"], "active");
    await isAt(id, 1);
  });

  it("is deleted, and then nothing is sent any more", async () => {
    const made = await create();
    const target = `/v1/webhooks/${textAt(made.body, "webhook_id")}`;
    assert.equal((await workspace.as("admin", "DELETE", target)).status, 204);
    for (const [method, path] of [
      ["GET", target],
      ["DELETE", target],
      ["POST", `${target}/resume`],
      ["POST", `${target}/rotate`],
      ["POST", `${target}/test`],
    ] as const)
      assert.equal((await workspace.as("admin", method, path)).status, 404, `${method} ${path}`);
    const other = await create();
    await append(entered());
    await isAt(textAt(other.body, "webhook_id"), 1);
    assert.equal(receiver.received.length, 1);
  });

  it("of another workspace is unknown", async () => {
    const made = await create();
    const other = await app().workspace();
    const target = `/v1/webhooks/${textAt(made.body, "webhook_id")}`;
    for (const [method, path] of [
      ["GET", target],
      ["DELETE", target],
      ["POST", `${target}/resume`],
      ["POST", `${target}/rotate`],
      ["POST", `${target}/test`],
    ] as const)
      assert.equal((await other.as("admin", method, path)).status, 404, `${method} ${path}`);
    assert.deepEqual(listAt((await other.as("admin", "GET", "/v1/webhooks")).body, "webhooks"), []);
  });

  it("is refused with 422 that names the field, and above twenty of a workspace", async () => {
    const wrongs: readonly (readonly [object, string])[] = [
      [{ url: "no url" }, "url"],
      [{ url: "ftp://example.com/" }, "url"],
      [{ url: "https://user:password@example.com/" }, "url"],
      [{ url: `https://example.com/${"x".repeat(2_048)}` }, "url"],
      [{ types: ["came"] }, "types.0"],
      [{ types: [] }, "types"],
      [{ audience_ids: [newId()] }, "audience_ids.0"],
      [{ audience_ids: [] }, "audience_ids"],
      [{ after: -1 }, "after"],
      [{ after: 1.5 }, "after"],
      [{ secret: "mine" }, "secret"],
    ];
    for (const [more, path] of wrongs) {
      const answer = await create(more);
      assert.deepEqual([answer.status, errorPaths(answer)], [422, [path]], answer.text);
    }
    const made = await Promise.all(Array.from({ length: 22 }, () => create()));
    assert.equal(made.filter(({ status }) => status === 201).length, 20);
    assert.equal(made.filter(({ status }) => status === 422).length, 2);
  });
});
