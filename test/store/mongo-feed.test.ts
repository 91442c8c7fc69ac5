import assert from "node:assert/strict";
import type { Collection } from "mongodb";
import type { Entry } from "../../core/audience/seat.js";
import { newId, type ProfileId, type WorkspaceId } from "../../core/ids.js";
import { createFeed, type ChunkDocument } from "../../store/mongo/audiences/feed.js";
import { appendOnce, type Chunk } from "../../store/mongo/audiences/publish.js";
import type { Session } from "../../store/mongo/session.js";

interface Range {
  readonly last?: { readonly $gt?: number; readonly $lte?: number };
}
interface Options {
  readonly sort?: { readonly last: 1 | -1 };
  readonly limit?: number;
  readonly projection?: Readonly<Record<string, 0 | 1>>;
}

type Asking = Options & { readonly readConcern?: { readonly level: string } };

const ONE_CALL = { call: (work) => work(), requireOpen: () => {} } satisfies Partial<Session>;
const entryOf = (seq: number): Entry => ({ type: "profile_erased", at: seq, profileId: `p${seq}` as ProfileId });

/** Chunks of one workspace that begin at `first`, and how many of their entries left the server. */
function collectionOf(sizes: readonly number[], begin = 1) {
  const workspace = newId<WorkspaceId>();
  let next = begin;
  const documents = sizes.map((size) => {
    const first = next;
    next += size;
    const entries = Array.from({ length: size }, (_, n) => JSON.stringify(entryOf(first + n)));
    return { _id: `${first}`, ws: workspace, first, last: next - 1, at: 1, entries, origins: [], sizes: [] };
  });
  const read = { entries: 0 };
  const select = ({ last }: Range, { sort, limit, projection = {} }: Options) => {
    const found = documents
      .filter((one) => one.last > (last?.$gt ?? 0) && one.last <= (last?.$lte ?? Infinity))
      .toSorted((a, b) => (sort?.last ?? 1) * (a.last - b.last))
      .slice(0, limit);
    const listsFields = Object.values(projection).includes(1);
    const isSent = listsFields ? projection["entries"] === 1 : projection["entries"] !== 0;
    if (isSent) for (const { entries } of found) read.entries += entries.length;
    return isSent ? found : found.map((one) => ({ ...one, entries: undefined }));
  };
  const stub = {
    createIndex: async () => "",
    find: (range: Range, options: Options) => ({ toArray: async () => select(range, options) }),
    findOne: async (range: Range, options: Options) => select(range, { ...options, limit: 1 })[0] ?? null,
  };
  return { workspace, read, chunks: stub as unknown as Collection<ChunkDocument>, head: next - 1 };
}

const numbers = (from: number, count: number) => Array.from({ length: count }, (_, n) => from + n);

describe("The feed on MongoDB", () => {
  it("reads the chunks that hold the entries of a page, not as many as it has entries", async () => {
    for (const [sizes, after, limit, begin, readMax] of [
      [Array<number>(50).fill(400), 0, 100, 1, 800],
      [Array<number>(50).fill(400), 5_999, 1_000, 1, 2_000],
      [Array<number>(50).fill(400), 5_999, 1, 1, 400],
      [Array<number>(300).fill(1), 20, 100, 1, 102],
      [[3, 1, 900, 1, 1, 900], 2, 4, 1, 905],
      // The oldest are forgotten.
      [Array<number>(50).fill(400), 10, 1_000, 2_001, 2_000],
      [[5], 5, 10, 1, 0],
    ] as const) {
      const { workspace, read, chunks, head } = collectionOf(sizes, begin);
      const feed = await createFeed(chunks, ONE_CALL as unknown as Session);
      const page = await feed.feed(workspace, after, limit);
      const from = Math.max(after + 1, begin);
      const expected = numbers(from, Math.min(limit, head - from + 1));
      assert.deepEqual(page, {
        entries: expected.map((seq) => ({ seq, entry: entryOf(seq) })),
        head,
        oldest: begin,
      });
      assert.ok(read.entries <= readMax, `${read.entries} entries were read for ${limit}`);
    }
  });

  it("begins with its first entry, also while that is being written", async () => {
    const { workspace, chunks } = collectionOf([1]);
    const findOne = async (range: object, options: { readonly sort?: { readonly last: 1 | -1 } }) => {
      // It comes between this read and the next one.
      return options.sort?.last === 1 ? null : chunks.findOne(range, options);
    };
    const between = { createIndex: async () => "", find: () => ({ toArray: async () => [] }), findOne };
    const feed = await createFeed(between as unknown as Collection<ChunkDocument>, ONE_CALL as unknown as Session);
    assert.deepEqual(await feed.feed(workspace, 0, 10), { entries: [], head: 1, oldest: 1 });
  });

  it("answers no entry that a new primary may take back, and a head that does not go back with one", async () => {
    const { workspace, chunks } = collectionOf([2, 2]);
    const asked: string[] = [];
    const note = ({ projection = {}, readConcern }: Asking, what: string): void =>
      void asked.push(`${what} ${Object.keys(projection).join(" ")}: ${readConcern?.level}`);
    const noted = {
      createIndex: async () => "",
      find: (filter: object, options: Asking) => {
        note(options, "all");
        return chunks.find(filter, options as object);
      },
      findOne: (filter: object, options: Asking) => {
        note(options, "one");
        return chunks.findOne(filter, options as object);
      },
    };
    const feed = await createFeed(noted as unknown as Collection<ChunkDocument>, ONE_CALL as unknown as Session);
    assert.equal((await feed.feed(workspace, 0, 10)).entries.length, 4);
    assert.deepEqual(asked, [
      "all _id last: majority",
      "all first entries: majority",
      "one first: undefined",
      "one entries: undefined",
    ]);
    asked.length = 0;
    assert.equal((await feed.sizes(workspace)).head, 4);
    assert.deepEqual(asked, ["one entries: majority"], "whoever begins behind it must be told what comes");
  });

  it("is written in chunks of at most 1,000 entries, of whole saves", async () => {
    const outgoing = [600, 400, 1, 1_500, 700, 300].map((size, n) => ({
      origin: `save ${n}`,
      entries: numbers(n * 10_000, size).map(entryOf),
    }));
    const written: Chunk[] = [];
    const steps = {
      head: async () => ({ seq: written.reduce((sum, { entries }) => sum + entries.length, 0), sizes: new Map() }),
      standing: async () => new Set(written.flatMap(({ origins }) => origins)),
      insert: async (chunk: Chunk) => written.push(chunk) > 0,
    };
    await appendOnce(steps, outgoing);
    assert.deepEqual(
      written.map(({ first, entries }) => [first, entries.length]),
      [
        [1, 1_000],
        [1_001, 1],
        [1_002, 1_500],
        [2_502, 1_000],
      ],
    );
    assert.deepEqual(
      written.flatMap(({ entries }) => entries),
      outgoing.flatMap(({ entries }) => entries),
    );
  });
});
