import assert from "node:assert/strict";
import { inPortions } from "../../../commands/acceptance/portions.js";
import { withFolder, withApp, withoutWorker } from "../../support/faults.js";
import { eventually } from "../../support/eventually.js";
import { SERVERS } from "../../support/servers/servers.js";
import { listAt, textAt, useApp, type Answer, type TestWorkspace } from "../../support/service/app.js";
import { itemOf, postBatch, resultsOf, wordsOf, type BatchItem } from "../../support/service/batch.js";

const AT = { timestamp: "2026-01-01T00:00:00Z" };
const idsOf = (answer: Answer): readonly (string | undefined)[] => resultsOf(answer).map(({ event_id: id }) => id);

describe("Idempotency keys of a batch", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  let schemaId: string;
  before(async () => {
    workspace = await app().workspace();
    schemaId = await workspace.schema();
  });
  const post = (events: readonly BatchItem[], header: string | null = null, query = "") =>
    postBatch(
      app(),
      workspace,
      { events },
      { query, ...(header !== null && { headers: { "Idempotency-Key": header } }) },
    );
  const item = (name: string, key?: string): BatchItem =>
    itemOf(schemaId, { email: `${name}@example.com` }, { ...AT, ...(key !== undefined && { idempotency_key: key }) });
  const untilCountOf = (email: string, count: string): Promise<void> =>
    eventually(`${count} events of ${email}`, async () => {
      const identifiers = [{ namespace: "email", value: email }];
      const { body } = await workspace.send("POST", "/v1/profiles/lookup", { identifiers });
      return textAt(listAt(body, "profiles")[0], "event_count") === count;
    });

  it("of the header cover each event without its own: the same batch again is the same events, stored once", async () => {
    const events = [item("h1"), item("h2"), item("h3", "own")];
    const first = await post(events, "batch-1");
    const again = await post(events, "batch-1");
    assert.deepEqual([first.status, again.status], [202, 202]);
    assert.deepEqual(idsOf(again), idsOf(first));
    assert.equal(new Set(idsOf(first)).size, 3);
    for (const id of idsOf(first)) await workspace.settled(id);
    assert.deepEqual(idsOf(await post(events, "batch-1")), idsOf(first));
    await untilCountOf("h1@example.com", "1");
    const [elsewhere] = idsOf(await post([item("h3", "own")], "batch-2"));
    assert.equal(elsewhere, idsOf(first)[2], "its own key is the same in every batch");
    const [other] = idsOf(await post([item("h1")], "batch-2"));
    assert.notEqual(other, idsOf(first)[0]);
  });

  it("of one sender name one event, alone or in a batch", async () => {
    const [id] = idsOf(await post([item("alone", "k/0")]));
    const [same] = idsOf(await post([item("alone", "k/0"), item("beside")]));
    assert.equal(same, id);
    const single = await workspace.collect(schemaId, { email: "alone@example.com" }, { "Idempotency-Key": "k/0" });
    assert.deepEqual([single.status, single.body["code"]], [422, "idempotency_mismatch"], "other bytes");
  });

  it("twice in one batch are one event for the same bytes, and reject the second for others", async () => {
    const answer = await post([item("t1", "twice"), item("t2", "twice"), item("t1", "twice"), item("t4")]);
    assert.equal(answer.status, 207);
    assert.deepEqual(wordsOf(answer), ["accepted", "rejected idempotency_mismatch", "accepted", "accepted"]);
    assert.equal(idsOf(answer)[0], idsOf(answer)[2]);
    await workspace.settled(idsOf(answer)[0]);
    await untilCountOf("t1@example.com", "1");
    const atomic = await post([item("t5", "atomic"), item("t6", "atomic")], null, "?atomic=true");
    assert.deepEqual(wordsOf(atomic), ["withheld", "rejected idempotency_mismatch"]);
    assert.equal((await post([item("t6", "atomic")])).status, 202, "nothing of the refused batch holds the key");
  });

  it("with other bytes than before reject that event, and no other", async () => {
    const [first] = idsOf(await post([item("o1", "other")]));
    const answer = await post([item("o2", "other"), item("o3")]);
    assert.deepEqual(wordsOf(answer), ["rejected idempotency_mismatch", "accepted"]);
    const event = await workspace.settled(first);
    assert.deepEqual(event.body["payload"], { email: "o1@example.com" });
  });

  it("are named where they were given: in the item, or in the header", async () => {
    const paths = (answer: Answer) => resultsOf(answer).map(({ errors }) => errors?.[0]?.path);
    const [own, head] = ["idempotency_key", "Idempotency-Key"];
    await post([item("n1", "named")]);
    assert.deepEqual(paths(await post([item("n2", "named"), item("n3", "n-twice"), item("n4", "n-twice")])), [
      own,
      undefined,
      own,
    ]);
    await post([item("n5"), item("n6", "named-2")], "n-head");
    assert.deepEqual(paths(await post([item("n7"), item("n8", "named-2")], "n-head")), [head, own]);
    const burst = await Promise.all(Array.from({ length: 8 }, (_, n) => post([item(`n9-${n}`, "n-burst")])));
    const refused = burst.flatMap(paths).filter((path) => path !== undefined);
    assert.deepEqual(
      refused,
      Array.from({ length: 7 }, () => own),
    );
  });

  it("in many batches at once make each event once", async () => {
    const events = Array.from({ length: 50 }, (_, n) => item(`burst-${n}`, `burst-${n}`));
    const answers = await Promise.all(Array.from({ length: 6 }, () => post(events)));
    assert.deepEqual(new Set(answers.map(({ text }) => text)).size, 1);
    for (const id of idsOf(answers[0]!)) await workspace.settled(id);
    await untilCountOf("burst-7@example.com", "1");
  });

  // Over a broker nobody can look into the queue.
  if (SERVERS === null)
    it("hold for what waits in the queue after a restart", () =>
      withFolder(async (folder) => {
        const settings = { DATA_DIR: folder };
        const events = (name: string) => [{ ...AT, schema_id: "", payload: { email: `${name}@example.com` } }];
        let [key, id, first] = ["", "", ""];
        await withApp(settings, { wrap: withoutWorker }, async (one) => {
          const own = await one.workspace();
          key = await own.key("owner");
          id = await own.schema();
          const sent = events("first").map((event) => ({ ...event, schema_id: id }));
          const answer = await postBatch(one, own, { events: sent }, { headers: { "Idempotency-Key": "b" } });
          first = String(idsOf(answer)[0]);
        });
        await withApp(settings, { wrap: withoutWorker }, async (two) => {
          const again = (name: string) =>
            two.send("POST", "/v1/collect/batch", {
              key,
              body: { events: events(name).map((event) => ({ ...event, schema_id: id })) },
              headers: { "Idempotency-Key": "b" },
            });
          assert.deepEqual(idsOf(await again("first")), [first]);
          assert.deepEqual(wordsOf(await again("other")), ["rejected idempotency_mismatch"]);
          assert.equal(await two.service.backends.queue.depth(), 1);
        });
      }));
});

describe("Work in portions", () => {
  it("lets others have a turn between two portions, by count and by bytes, and answers in order", async () => {
    for (const [items, turnsMin] of [
      [Array.from({ length: 1_000 }, () => 100), 15],
      [Array.from({ length: 64 }, () => 65_536), 60],
      [[], 0],
    ] as const) {
      let turns = 0;
      let isOver = false;
      const turn = (): void => {
        turns += 1;
        if (!isOver) setImmediate(turn);
      };
      setImmediate(turn);
      const results = await inPortions(
        items,
        (bytes) => bytes,
        async (_, index) => index,
      );
      isOver = true;
      assert.deepEqual(results, [...items.keys()]);
      assert.ok(turns >= turnsMin, `${turns} turns`);
    }
  });

  it("ends with the first failure", async () => {
    const work = inPortions(
      [1, 2, 3],
      () => 65_536,
      async (item) => {
        if (item === 2) throw new Error("two");
        return item;
      },
    );
    await assert.rejects(work, /two/);
  });
});
