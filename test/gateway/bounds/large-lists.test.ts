import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { Type } from "typebox";
import { newId, type WorkspaceId } from "../../../core/ids.js";
import { createBytesInFlight, type BytesInFlight } from "../../../gateway/http/bytes-in-flight.js";
import { reply, type Context, type Reply, type Route } from "../../../gateway/route.js";
import { list, wholePage } from "../../../gateway/shapes/page.js";
import { aroundGraph } from "../../support/around-graph.js";
import { listAt, textAt, useApp, type TestWorkspace } from "../../support/service/app.js";

const CHANGES = 20;
const MIB = 1_048_576;
const PAGE_BYTES_MAX = 2 * MIB;
/** As JSON each of its characters takes six bytes. */
const LONG = "\u0001".repeat(1_000);
const USER = { namespace: "user_id", value: "u-1" };

const LARGE = {
  path: "/v1/large",
  operationId: "listLarge",
  tag: "Read",
  summary: "Large ones",
  example: {},
  access: { kind: "role", role: "viewer" },
  name: "items",
  item: Type.String(),
  itemBytes: 262_144,
} as const;

/** Answers the bytes of a page. */
async function pageOf(handle: Route["handle"], inFlight: BytesInFlight, workspace: WorkspaceId): Promise<number> {
  const share = inFlight.open(workspace);
  const page = { limit: 50, after: null, cursorOf: () => "next" };
  const context = { page, takeBytes: share.take, giveBack: share.giveBack, takeTurn: share.takeTurn };
  const { json } = (await handle(context as unknown as Context)) as Reply;
  share.settle(json.length);
  return json.length;
}

describe("A list of large items", () => {
  let [reads, latencyMs] = [0, 0];
  /** Reads that were begun in this turn of the event loop, and the most in one. */
  let [inTurn, mostInTurn] = [0, 0];
  const counting = async <T>(read: () => Promise<T>): Promise<T> => {
    reads += 1;
    inTurn += 1;
    mostInTurn = Math.max(mostInTurn, inTurn);
    if (inTurn === 1) setImmediate(() => (inTurn = 0));
    await sleep(latencyMs);
    return read();
  };
  let walks = 0;
  const countingWalks = aroundGraph(["history", "historyIds"], (walk) => {
    walks += 1;
    return walk();
  });
  const countingReads = aroundGraph(["changes", "findChanges", "members", "sharedIdentifiers"], counting);
  const app = useApp({}, { wrap: (backends) => countingWalks(countingReads(backends)) });
  let workspace: TestWorkspace;
  let profileId: string;
  const made: string[] = [];
  before(async () => {
    workspace = await app().workspace();
    for (let n = 0; n < CHANGES; n += 1) {
      const others = Array.from({ length: 19 }, (_, i) => ({ namespace: "cookie_id", value: `${n}-${i}${LONG}` }));
      const identifiers = [USER, ...others];
      const { status, body, text } = await workspace.send("POST", "/v1/identify", { identifiers });
      assert.equal(status, 200, text);
      made.unshift(textAt(body, "change_id"));
      profileId = textAt(body, "profile_id");
    }
  });
  afterEach(() => (latencyMs = 0));

  for (const [name, target, items, id] of [
    ["changes", () => "/v1/changes", "changes", "change_id"],
    ["the history of a profile", () => `/v1/profiles/${profileId}/history`, "changes", "change_id"],
    ["the identifiers of a profile", () => `/v1/profiles/${profileId}/identifiers`, "identifiers", "value"],
  ] as const)
    it(`ends a page at 2 MB, and its pages have each once: ${name}`, async () => {
      const walked: string[] = [];
      let pages = 0;
      for (let cursor = ""; ; pages += 1) {
        const { status, body, text } = await workspace.send("GET", `${target()}?limit=100${cursor}`);
        assert.equal(status, 200, text);
        assert.ok(Buffer.byteLength(text) <= PAGE_BYTES_MAX + 1_000, `${Buffer.byteLength(text)} bytes`);
        walked.push(...listAt(body, items).map((item) => textAt(item, id)));
        if (body["next_cursor"] === null) break;
        cursor = `&cursor=${textAt(body, "next_cursor")}`;
      }
      if (id === "change_id") assert.deepEqual(walked, made);
      else assert.equal(new Set(walked).size, CHANGES * 19 + 1);
      assert.ok(pages >= 1, `${pages + 1} pages`);
    });

  for (const [name, target] of [
    ["the history of a profile", (id: string) => `/v1/profiles/${id}/history`],
    ["the graph of a profile", (id: string) => `/v1/profiles/${id}/graph?limit=100`],
    ["shared identifiers", () => "/v1/identity/shared-identifiers?limit=100"],
  ] as const)
    it(`is no reason to wait where the items are small: ${name}`, async () => {
      const other = await app().workspace();
      const identifiers = [USER, { namespace: "cookie_id", value: "c-1" }];
      const { body } = await other.send("POST", "/v1/identify", { identifiers });
      const settings = { shared_identifier_limit: 5 };
      assert.equal((await other.send("PUT", "/v1/identity/settings", settings)).status, 200);
      latencyMs = 150;
      const readers = Array.from({ length: 200 }, () => other.send("GET", target(textAt(body, "profile_id"))));
      for (const { status, text } of await Promise.all(readers)) assert.equal(status, 200, text);
    });

  it("is read in few steps where they are small, and has each once", async () => {
    const other = await app().workspace();
    const made: string[] = [];
    for (let n = 0; n < 60; n += 1) {
      const identifiers = [USER, { namespace: "cookie_id", value: `c-${n}` }];
      made.unshift(textAt((await other.send("POST", "/v1/identify", { identifiers })).body, "change_id"));
    }
    reads = 0;
    const { body } = await other.send("GET", "/v1/changes?limit=60");
    assert.deepEqual(
      listAt(body, "changes").map((item) => textAt(item, "change_id")),
      made,
    );
    assert.equal(body["next_cursor"], null);
    assert.ok(reads <= 3, `${reads} reads`);
  });

  it("has the members of a profile looked at once for a page of its history", async () => {
    walks = 0;
    const { body } = await workspace.send("GET", `/v1/profiles/${profileId}/history?limit=16`);
    assert.deepEqual(
      listAt(body, "changes").map((item) => textAt(item, "change_id")),
      made.slice(0, 16),
    );
    assert.equal(walks, 1);
  });

  for (const [name, target] of [
    ["changes", () => "/v1/changes"],
    ["the history of a profile", () => `/v1/profiles/${profileId}/history`],
  ] as const)
    it(`is read by few readers of a workspace in a turn of the event loop: ${name}`, async () => {
      latencyMs = 20;
      mostInTurn = 0;
      const readers = Array.from({ length: 40 }, () => workspace.send("GET", `${target()}?limit=100`));
      const answers = await Promise.all(readers);
      assert.ok(answers.some(({ status }) => status === 200));
      // The count ends somewhere in the next turn, which has its own read.
      assert.ok(mostInTurn <= 2, `${mostInTurn} reads in a turn`);
    });

  for (const [name, readBefore, mostItems] of [
    ["however many readers read on", [], 2 * 9],
    // Nobody knows any more that they are large; then four are read together.
    ["also after pages without items", [0], 4 * 9],
    ["also after pages of small items", [1], 4 * 9],
  ] as const)
    it(`is read about as much in a turn as a page has, ${name}`, async () => {
      let [inTurn, most, size] = [0, 0, 130_000];
      const { handle } = list({
        ...LARGE,
        read: async (_, { limit }) => {
          if (inTurn === 0) setImmediate(() => (inTurn = 0));
          inTurn += limit;
          most = Math.max(most, inTurn);
          return Array.from({ length: size === 0 ? 0 : limit }, () => "x".repeat(size));
        },
        position: () => ["1"],
        show: (text) => JSON.stringify(text),
      });
      const inFlight = createBytesInFlight({ bytesMax: 1_024 * MIB, workspaceBytesMax: 1_024 * MIB });
      const many = newId<WorkspaceId>();
      // What is known of a workspace is kept while it has answers in flight.
      await inFlight.open(many).take(1);
      const reading = async (): Promise<void> => {
        for (let pages = 0; pages < 2; pages += 1) await pageOf(handle, inFlight, many);
      };
      for (const before of readBefore) {
        size = before;
        for (let n = 0; n < 40; n += 1) await reading();
      }
      [most, size] = [0, 130_000];
      await Promise.all(Array.from({ length: 40 }, reading));
      assert.ok(most <= mostItems, `${most} items of 130 KB in a turn`);
    });

  it("needs few turns of the event loop where the items are small, which may be long", async () => {
    let [turns, isOver] = [0, false];
    const count = (): void => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    const { handle } = list({
      ...LARGE,
      read: async (_, { limit, after }) =>
        Array.from({ length: limit }, (_, n) => Number(after?.[0] ?? 0) + n + 1).filter((n) => n <= 100),
      position: (n) => [String(n)],
      show: (n) => JSON.stringify(n),
    });
    const inFlight = createBytesInFlight();
    const many = newId<WorkspaceId>();
    count();
    await Promise.all(Array.from({ length: 60 }, () => pageOf(handle, inFlight, many)));
    isOver = true;
    assert.ok(turns < 60, `${turns} turns`);
  });

  it("is read a few at a time where many readers cannot know yet how large they are", async () => {
    let [untaken, most] = [0, 0];
    const { handle } = list({
      ...LARGE,
      read: async (_, { limit, after }) => {
        untaken += limit;
        most = Math.max(most, untaken);
        await sleep(50);
        untaken -= limit;
        return Array.from({ length: limit }, (_, n) => Number(after?.[0] ?? 0) + n + 1);
      },
      position: (n) => [String(n)],
      show: (n) => JSON.stringify("x".repeat(n <= 8 ? 100 : 260_000)),
    });
    const inFlight = createBytesInFlight({ waitMs: 100 });
    const many = newId<WorkspaceId>();
    await Promise.allSettled(Array.from({ length: 40 }, () => pageOf(handle, inFlight, many)));
    assert.ok(most <= 40 * 9 + 4 * 32, `${most} items at once`);
  });

  describe("while memory is taken", () => {
    /** Answers the bytes of a page of a list of so large items. */
    const reading = (inFlight: BytesInFlight, itemBytes: number) => {
      const { handle } = list({
        ...LARGE,
        read: async (_, { limit }) => {
          await sleep(5);
          return Array.from({ length: limit }, () => "x".repeat(itemBytes));
        },
        position: () => ["1"],
        show: (text) => JSON.stringify(text),
      });
      return (workspace: WorkspaceId): Promise<number> => pageOf(handle, inFlight, workspace);
    };

    it("leaves others their room while nobody takes its pages", async () => {
      const inFlight = createBytesInFlight({ waitMs: 100 });
      const read = reading(inFlight, 260_000);
      const greedy = newId<WorkspaceId>();
      const all = await Promise.allSettled(Array.from({ length: 40 }, () => read(greedy)));
      const sizes = all.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
      const held = sizes.reduce((sum, bytes) => sum + bytes, 0);
      assert.ok(sizes.length > 6 && held <= 16.1 * MIB, `${held} bytes in ${sizes.length} pages`);
      await inFlight.open(newId()).take(PAGE_BYTES_MAX);
    });

    const ofWhole = (inFlight: BytesInFlight, workspace: WorkspaceId): Promise<number> =>
      pageOf(
        (context) => wholePage(context, 262_144, async () => reply(200, "x".repeat(130_000))),
        inFlight,
        workspace,
      );
    for (const [name, read] of [
      ["its first item", (...[inFlight, workspace]) => reading(inFlight, 120_000)(workspace)],
      ["a page that ends at no size", ofWhole],
    ] as readonly (readonly [string, typeof ofWhole])[])
      it(`waits in turn for the bytes of ${name}`, async () => {
        const inFlight = createBytesInFlight();
        const workspace = newId<WorkspaceId>();
        const holder = inFlight.open(workspace);
        await holder.take(16 * MIB);
        holder.settle(16 * MIB - 100_000);
        const answer = read(inFlight, workspace);
        setTimeout(holder.release, 100);
        assert.ok((await answer) > 120_000);
      });

    it("holds no more than its workspace may where its pages end at no size", async () => {
      const inFlight = createBytesInFlight({ waitMs: 100 });
      const workspace = newId<WorkspaceId>();
      const all = await Promise.allSettled(Array.from({ length: 150 }, () => ofWhole(inFlight, workspace)));
      const made = all.filter(({ status }) => status === "fulfilled").length;
      assert.ok(made > 100 && made * 130_000 <= 16 * MIB, `${made} pages`);
    });
  });
});
