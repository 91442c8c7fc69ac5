import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { createWaiting } from "../../../commands/waiting.js";
import { waitUntilFolded } from "../../../commands/wait-until-folded.js";
import { AppError } from "../../../core/errors.js";
import { BUILT_IN_NAMESPACES } from "../../../core/identity/namespaces.js";
import type { HistoryPage } from "../../../core/identity/pages.js";
import { newId, type EventId, type ProfileId, type Uid, type WorkspaceId } from "../../../core/ids.js";
import {
  at,
  errorPaths,
  listAt,
  startApp,
  useApp,
  type Answer,
  type TestWorkspace,
} from "../../support/service/app.js";

/** Far less than the ten seconds that are asked for, and enough for a busy machine. */
const SOON_MS = 5_000;

async function timed(ask: () => Promise<Answer>): Promise<Answer & { readonly ms: number }> {
  const before = performance.now();
  const answer = await ask();
  return { ...answer, ms: performance.now() - before };
}

const changeOf = (source: string) => ({ evidence: { source } });

describe("A read that waits", () => {
  let release = (): void => {};
  /** Folds, and inserts where they are held, come to stand only once they are released, as with a slow store. */
  let released = Promise.resolve();
  let holdsInserts = false;
  let dies = false;
  let isDamaged = false;
  const hold = ({ inserts = false } = {}): void => {
    holdsInserts = inserts;
    released = new Promise((resolve) => (release = resolve));
  };
  const app = useApp(
    { WORKER_TRIES_MAX: "1" },
    {
      wrap: (backends) => ({
        ...backends,
        events: {
          ...backends.events,
          find: async (...given) => {
            if (isDamaged) throw new AppError("damaged", "It cannot be read.");
            return backends.events.find(...given);
          },
          insert: async (...given) => {
            if (holdsInserts) await released;
            return backends.events.insert(...given);
          },
          fold: async (...given) => {
            await released;
            if (dies) throw new AppError("validation_failed", "It dies.");
            return backends.events.fold(...given);
          },
        },
      }),
    },
  );
  let workspace: TestWorkspace;
  beforeEach(async () => {
    workspace = await app().workspace();
  });
  afterEach(() => {
    release();
    dies = false;
    isDamaged = false;
  });
  const lookUp = (value: string, wait: string) =>
    workspace.send("POST", `/v1/profiles/lookup?wait=${wait}`, { identifiers: [{ namespace: "email", value }] });

  it("answers an event once it is folded, in one request", async () => {
    const schemaId = await workspace.schema();
    const accepted = await workspace.collect(schemaId, { email: "ada@example.com" });
    const { body } = await workspace.send("GET", `/v1/events/${String(accepted.body["event_id"])}?wait=10`);
    assert.equal(body["status"], "folded");
  });

  it("answers an event at once that stays stored for good, for no dataset folds it or it names nobody", async () => {
    for (const unified of [false, true]) {
      const schemaId = await workspace.schema(undefined, unified);
      const payload = unified ? { email: "null" } : { email: "ada@example.com" };
      const accepted = await workspace.collect(schemaId, payload);
      const target = `/v1/events/${String(accepted.body["event_id"])}?wait=10`;
      const { body, ms } = await timed(() => workspace.send("GET", target));
      assert.deepEqual([body["status"], body["reason"]], ["stored", unified ? "no_identifier" : "not_unified"]);
      assert.ok(ms < SOON_MS, `${ms} ms`);
    }
  });

  it("answers an event that is not stored yet once it is folded, though a refused one of its key was kept", async () => {
    await workspace.send("PUT", "/v1/sdk/settings", { keep_rejects: true });
    const schemaId = await workspace.schema();
    const key = { "Idempotency-Key": "k-1" };
    assert.equal((await workspace.collect(schemaId, { email: 7 }, key)).status, 422);
    await workspace.send("GET", "/v1/dead-letters?wait=10");
    hold({ inserts: true });
    const accepted = await workspace.collect(schemaId, { email: "ada@example.com" }, key);
    const target = `/v1/events/${String(accepted.body["event_id"])}`;
    assert.equal((await workspace.send("GET", target)).body["reason"], "rejected");
    const answering = workspace.send("GET", `${target}?wait=10`);
    await sleep(300);
    release();
    assert.equal((await answering).body["status"], "folded");
  });

  it("answers an event that died and is replayed once it is folded, or at once when it has died again", async () => {
    dies = true;
    const accepted = await workspace.collect(await workspace.schema(), { email: "ada@example.com" });
    const ask = () => workspace.send("GET", `/v1/events/${String(accepted.body["event_id"])}?wait=10`);
    assert.equal((await ask()).body["status"], "dead");
    for (const [isDeadAgain, status] of [
      [true, "dead"],
      [false, "folded"],
    ] as const) {
      dies = isDeadAgain;
      hold();
      const replayed = await workspace.send("POST", "/v1/dead-letters/replay", {});
      assert.equal(replayed.body["replayed"], 1, replayed.text);
      let isAnswered = false;
      const answering = timed(ask).finally(() => (isAnswered = true));
      await sleep(300);
      assert.ok(!isAnswered, "it is on its way again");
      release();
      const { body, ms } = await answering;
      assert.equal(body["status"], status);
      assert.ok(ms < SOON_MS, `${ms} ms`);
    }
  });

  it("looks a profile up once its identifiers are known and their events are folded, not before", async () => {
    hold();
    const schemaId = await workspace.schema();
    const answering = lookUp("ada@example.com", "10");
    let isAnswered = false;
    void answering.then(() => (isAnswered = true));
    await workspace.collect(schemaId, { email: "ada@example.com", city: "London" });
    while ((await lookUp("ada@example.com", "0")).body["profiles"]?.toString() === "") await sleep(10);
    await sleep(300);
    assert.ok(!isAnswered, "known, but not folded yet");
    release();
    const profile = listAt((await answering).body, "profiles")[0];
    assert.deepEqual([at(profile, "event_count"), at(profile, "traits")], [1, { city: "London" }]);
  });

  it("looks up at once what identify made known, for there is no event to wait for", async () => {
    await workspace.send("POST", "/v1/identify", { identifiers: [{ namespace: "email", value: "ada@example.com" }] });
    const { body, ms } = await timed(() => lookUp("ada@example.com", "10"));
    assert.equal(listAt(body, "profiles").length, 1);
    assert.ok(ms < SOON_MS, `${ms} ms`);
  });

  it("looks a profile up at once though an event of it is damaged: that one will never be folded", async () => {
    const accepted = await workspace.collect(await workspace.schema(), { email: "ada@example.com", phone: "+4930123" });
    await workspace.settled(accepted.body["event_id"]);
    isDamaged = true;
    const { status, body, text, ms } = await timed(() => lookUp("ada@example.com", "10"));
    assert.equal(status, 200, text);
    assert.equal(listAt(body, "profiles").length, 1);
    assert.ok(ms < SOON_MS, `${ms} ms`);
  });

  it("answers as it is when the time is up", async () => {
    const event = await timed(() => workspace.send("GET", `/v1/events/${randomUUID()}?wait=1`));
    assert.equal(event.status, 404);
    assert.ok(event.ms >= 990, `${event.ms} ms`);
    const lookup = await timed(() => lookUp("nobody@example.com", "1"));
    assert.equal(listAt(lookup.body, "unknown").length, 1);
    assert.ok(lookup.ms >= 990, `${lookup.ms} ms`);
  });

  it("is refused with 400 that names wait unless that is a whole number from 0 to 10", async () => {
    for (const wait of ["-1", "11", "1.5", "x", "", "1e1", "0x1"])
      for (const answer of [
        await lookUp("a@example.com", wait),
        await workspace.send("GET", `/v1/events/${randomUUID()}?wait=${wait}`),
      ])
        assert.deepEqual([answer.status, errorPaths(answer)], [400, ["wait"]], wait);
  });

  it("answers at once when the process drains", async () => {
    const draining = await startApp();
    const other = await draining.workspace();
    const waiting = timed(() => other.send("GET", `/v1/events/${randomUUID()}?wait=10`));
    await sleep(200);
    const closing = draining.service.close();
    const { status, ms } = await waiting;
    assert.equal(status, 404);
    assert.ok(ms < SOON_MS, `${ms} ms`);
    await closing;
    await draining.close();
  });

  it("leaves no line in the log when its client is gone", async () => {
    const before = app().records.length;
    for (const target of ["/v1/feed?wait=5", `/v1/events/${randomUUID()}?wait=5`]) {
      const leaving = new AbortController();
      const headers = { Authorization: `Bearer ${await workspace.key("viewer")}` };
      const asking = fetch(new URL(target, app().url), { headers, signal: leaving.signal });
      await sleep(200);
      leaving.abort();
      await assert.rejects(asking);
    }
    await sleep(1_000);
    const lines = app().records.slice(before);
    assert.deepEqual(
      lines.filter((line) => /request (?:failed|refused)/.test(line)),
      [],
    );
  });

  it("does not wait where too many wait already, in all or of its workspace", async () => {
    const [one, other, third] = [newId<WorkspaceId>(), newId<WorkspaceId>(), newId<WorkspaceId>()];
    const waiting = createWaiting(2, 1);
    const never = () => false;
    let reads = 0;
    const ask = (workspace: WorkspaceId) => waiting.until(workspace, async () => (reads += 1), never, 10);
    const first = ask(one);
    assert.equal(await ask(one), 2);
    const second = ask(other);
    const before = reads;
    assert.equal(await ask(third), before + 1);
    waiting.drain();
    assert.ok((await first) <= reads && (await second) <= reads);
    const after = reads;
    assert.equal(await ask(one), after + 1);
  });

  it("reads the changes of a large profile that its asked identifiers are in, not all of them", async () => {
    const read: unknown[] = [];
    const profileId = newId<ProfileId>();
    const refs = [1_000, 1_001].map((size) => ({ profileId, size, uid: newId<Uid>() }));
    for (const ref of refs)
      await waitUntilFolded(
        {
          catalog: { namespaces: () => Promise.resolve(BUILT_IN_NAMESPACES) },
          identity: {
            lookup: () => Promise.resolve([ref]),
            history: (_: WorkspaceId, id: Uid, { isOwn }: HistoryPage) => {
              read.push([id, isOwn]);
              return Promise.resolve([]);
            },
          },
          waiting: createWaiting(),
        } as unknown as Parameters<typeof waitUntilFolded>[0],
        newId<WorkspaceId>(),
        [{ namespace: "user_id", value: "ada" }],
        1,
        (_, isSo) => isSo(),
      );
    assert.deepEqual(read, [
      [profileId, false],
      [refs[1]!.uid, true],
    ]);
  });

  for (const [name, tookMs, most] of [
    ["takes one turn for all the events that it looks at, each of them once", 0, 12],
    ["stops between two events when the seconds are over", 600, 3],
  ] as const)
    it(`a look-up ${name}`, async () => {
      const shared = newId<EventId>();
      let [turns, finds] = [0, 0];
      const services = {
        catalog: { namespaces: () => Promise.resolve(BUILT_IN_NAMESPACES) },
        identity: {
          lookup: () =>
            Promise.resolve(["a", "b"].map(() => ({ profileId: newId<ProfileId>(), size: 1, uid: newId<Uid>() }))),
          history: () => Promise.resolve([shared, shared, ...Array.from({ length: 5 }, () => newId())].map(changeOf)),
        },
        events: {
          find: async () => {
            finds += 1;
            if (tookMs > 0) await sleep(tookMs);
            return null;
          },
        },
        limits: { payloadBytesMax: 1 },
        waiting: createWaiting(),
      } as unknown as Parameters<typeof waitUntilFolded>[0];
      const asked = ["a", "b"].map((value) => ({ namespace: "user_id", value }));
      await waitUntilFolded(services, newId<WorkspaceId>(), asked, 1, (_, isSo) => {
        turns += 1;
        return isSo();
      });
      assert.equal(turns, 1);
      assert.ok(finds > 0 && finds < most, `${finds} events`);
    });

  it("asks ever more rarely: a second of waiting is some ten reads", async () => {
    let reads = 0;
    await createWaiting().until(
      newId<WorkspaceId>(),
      async () => (reads += 1),
      () => false,
      1,
    );
    assert.ok(reads >= 3 && reads <= 14, `${reads} reads`);
  });
});
