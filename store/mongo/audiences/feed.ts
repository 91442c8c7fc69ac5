import type { Collection } from "mongodb";
import { believedTimes } from "../../../core/audience/feed.js";
import type { Entry } from "../../../core/audience/seat.js";
import type { AudienceId, WorkspaceId } from "../../../core/ids.js";
import type { SeatStore } from "../../../core/ports/seat-store.js";
import { isDuplicateKey } from "../failure.js";
import type { Session } from "../session.js";
import { appendOnce, type AppendSteps, type Chunk, type Outgoing } from "./publish.js";

/** Entries `first` to `last`; the id is made of `first`, so that no two begin with the same. */
export interface ChunkDocument {
  readonly _id: string;
  readonly ws: WorkspaceId;
  readonly first: number;
  readonly last: number;
  /** The latest time of an entry. */
  readonly at: number;
  /** JSON texts. */
  readonly entries: readonly string[];
  readonly origins: readonly string[];
  readonly sizes: readonly (readonly [AudienceId, number])[];
}

type Numbers = Pick<ChunkDocument, "last" | "at">;

/** What was told once must not be taken back, with its numbers going to other entries. */
const MAJORITY = { readConcern: { level: "majority" } } as const;

type Methods = Pick<SeatStore, "append" | "feed" | "sizes" | "trim" | "feeds">;

export interface Feed extends Methods {
  readonly appendOnce: (workspace: WorkspaceId, outgoing: readonly Outgoing[]) => Promise<void>;
}

export async function createFeed(chunks: Collection<ChunkDocument>, session: Session): Promise<Feed> {
  await session.call(() => chunks.createIndex({ ws: 1, last: 1 }, { name: "numbers", unique: true }));
  await session.call(() => chunks.createIndex({ ws: 1, origins: 1 }, { name: "origins" }));
  /** The next one that has any. */
  const feedAfter = async (after: string): Promise<WorkspaceId | null> => {
    const filter = { ws: { $gt: after as WorkspaceId } };
    const options = { sort: { ws: 1, last: 1 }, projection: { ws: 1 } } as const;
    return (await session.call(() => chunks.findOne(filter, options)))?.ws ?? null;
  };
  const headOf = (workspace: WorkspaceId, concern: Partial<typeof MAJORITY> = {}) => {
    const options = { sort: { last: -1 }, projection: { entries: 0 }, ...concern } as const;
    return session.call(() => chunks.findOne({ ws: workspace }, options));
  };
  /** Those of the next `limit` entries: a chunk has one or thousands, so the numbers alone are read first, which the index answers. */
  const chunksAfter = async (ws: WorkspaceId, after: number, limit: number) => {
    const numbers = { sort: { last: 1 }, limit, projection: { _id: 0, last: 1 }, ...MAJORITY } as const;
    const lasts = await session.call(() => chunks.find({ ws, last: { $gt: after } }, numbers).toArray());
    if (lasts.length === 0) return [];
    // Of the first chunk one entry at least comes after that number.
    const enough = lasts[0]!.last + limit - 1;
    const { last: end } = lasts.find(({ last }) => last >= enough) ?? lasts.at(-1)!;
    const options = { sort: { last: 1 }, projection: { first: 1, entries: 1 }, ...MAJORITY } as const;
    return session.call(() => chunks.find({ ws, last: { $gt: after, $lte: end } }, options).toArray());
  };
  /** The time of the first chunk from there on that is not from after `now`; Infinity if there is none. */
  const believedAfter = async (ws: WorkspaceId, from: Numbers | undefined, now: number): Promise<number> => {
    if (from === undefined || from.at <= now) return from?.at ?? Infinity;
    const filter = { ws, last: { $gt: from.last }, at: { $lte: now } };
    const options = { sort: { last: 1 }, projection: { at: 1 } } as const;
    return (await session.call(() => chunks.findOne(filter, options)))?.at ?? Infinity;
  };
  const stepsOf = (workspace: WorkspaceId): AppendSteps => ({
    head: async () => {
      const head = await headOf(workspace);
      return { seq: head?.last ?? 0, sizes: new Map(head?.sizes) };
    },
    standing: async (origins) => {
      const filter = { ws: workspace, origins: { $in: [...origins] } };
      const found = await session.call(() => chunks.find(filter, { projection: { origins: 1 } }).toArray());
      return new Set(found.flatMap((one) => one.origins));
    },
    insert: async (chunk) => {
      try {
        return (await session.call(() => chunks.insertOne(toDocument(workspace, chunk)))).acknowledged;
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
        return false;
      }
    },
  });
  return {
    appendOnce: (workspace, outgoing) => appendOnce(stepsOf(workspace), outgoing),
    append: async (workspace, origin, entries) => {
      session.requireOpen();
      if (entries.length > 0) await appendOnce(stepsOf(workspace), [{ origin, entries }]);
    },
    feed: async (workspace, after, limit) => {
      const found = await chunksAfter(workspace, after, limit);
      // The head is read last, so that it is never behind the entries. Not as they are: a new primary knows late what the majority has, and a
      // head that went back would say that a backup was restored.
      const oldest = { sort: { last: 1 }, projection: { first: 1 } } as const;
      const first = await session.call(() => chunks.findOne({ ws: workspace }, oldest));
      const head = (await headOf(workspace))?.last ?? 0;
      const texts = found.flatMap(numbered).filter(({ seq }) => seq > after);
      const entries = texts.slice(0, limit).map(({ seq, text }) => ({ seq, entry: JSON.parse(text) as Entry }));
      // A feed keeps its last chunk, so one without any had none until then: the head may be of a first one that came between the reads.
      return { entries, head, oldest: first?.first ?? 1 };
    },
    sizes: async (workspace) => {
      const head = await headOf(workspace, MAJORITY);
      return { sizes: new Map(head?.sizes), head: head?.last ?? 0 };
    },
    trim: async (workspace, before, limit, now = Infinity) => {
      const options = { sort: { last: 1 }, limit: limit + 1, projection: { at: 1, last: 1 } } as const;
      const first = await session.call(() => chunks.find({ ws: workspace }, options).toArray());
      const times = believedTimes(
        first.map(({ at }) => at),
        now,
        await believedAfter(workspace, first.at(-1), now),
      );
      const kept = times.findIndex((at, n) => at >= before || n === first.length - 1);
      if (kept <= 0) return false;
      const ids = first.slice(0, kept).map(({ _id }) => _id);
      await session.call(() => chunks.deleteMany({ _id: { $in: ids }, ws: workspace }));
      return kept === limit && times[kept]! < before;
    },
    feeds: async ({ limit, after }) => {
      const found: WorkspaceId[] = [];
      while (found.length < limit) {
        const next = await feedAfter(found.at(-1) ?? after ?? "");
        if (next === null) break;
        found.push(next);
      }
      return found;
    },
  };
}

const SEQ_DIGITS = 16;

export const chunkId = (ws: WorkspaceId, first: number): string => `${ws}:${String(first).padStart(SEQ_DIGITS, "0")}`;

const toDocument = (ws: WorkspaceId, { first, entries, origins, sizes }: Chunk): ChunkDocument => ({
  _id: chunkId(ws, first),
  ws,
  first,
  last: first + entries.length - 1,
  at: Math.max(...entries.map(({ at }) => at)),
  entries: entries.map((entry) => JSON.stringify(entry)),
  origins,
  sizes: [...sizes],
});

const numbered = ({ first, entries }: Pick<ChunkDocument, "first" | "entries">) =>
  entries.map((text, n) => ({ seq: first + n, text }));
