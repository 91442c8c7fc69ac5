import { AppError } from "../../core/errors.js";
import { workspaceOf } from "../../core/event/message.js";
import type { KeyId, WorkspaceId } from "../../core/ids.js";
import type { EventQueue } from "../../core/ports/event-queue.js";
import type { LiveChannel } from "../../core/ports/live-channel.js";
import { entryOfMessage, entryOfRefusal, type LiveEntry, type LiveVerdict } from "./entry.js";

/** What came in within a moment. */
export interface LiveBatch {
  readonly entries: readonly LiveEntry[];
  /** Events that came beside them and are not shown, because there were too many. */
  readonly skipped: number;
}

/** A batch, or word that what was shown before is to be forgotten. */
type Told = LiveBatch | { readonly forget: true };

export interface Watching {
  /** What came in before, the oldest first. */
  readonly entries: readonly LiveEntry[];
  readonly stop: () => void;
}

/** Whose event it was, and when it came. */
export interface LiveCaller {
  readonly workspace: WorkspaceId;
  readonly keyId: KeyId;
  readonly now: number;
}

export interface Live {
  /** To be called once the messages are queued. */
  queued(messages: readonly Buffer[]): void;
  /** To be called for each event that is refused, with the bytes of it that were read. */
  refused(caller: LiveCaller, bytes: Buffer, error: unknown): void;
  /** What is shown of the workspace is forgotten, in every gateway. */
  forget(workspace: WorkspaceId): void;
  /** `told` hears each batch; null: forget what you have. Throws `rate_limited` where too many watch. */
  watch(workspace: WorkspaceId, told: (batch: LiveBatch | null) => void): Promise<Watching>;
  close(): void;
}

const ENTRIES_MAX = 200;
/** Of all of them as JSON: whoever begins to watch gets them at once. */
const RING_BYTES_MAX = 524_288;
/** Events are gathered for so long. */
const MOMENT_MS = 250;
/** Of one kind in a moment: accepted events must not push out the refused ones. */
const PER_MOMENT: Readonly<Record<LiveVerdict, number>> = { accepted: 15, marked: 15, quarantined: 15, refused: 15 };
/** After the last one left, unless others need the place. */
const KEPT_MS = 300_000;
const WATCHERS_MAX = 20;
const RINGS_MAX = 200;

/** Of the last erasure, or the last time that one was repeated: what was accepted by then is shown no more. Read from where they stand, never from a cache; 0 if there is none. */
export type LastErased = (workspace: WorkspaceId) => Promise<number>;

export interface LiveDeps {
  readonly channel: LiveChannel;
  readonly lastErased: LastErased;
  /** How often that is looked at while somebody watches, milliseconds. */
  readonly lookMs?: number;
}

/** Who watches already hears of an erasure so late if the word of it was lost. */
const LOOK_MS = 2_000;

interface Ring {
  entries: readonly LiveEntry[];
  /** As it was seen last. */
  erasedAt: number;
  looking: NodeJS.Timeout | undefined;
  readonly watchers: Set<(batch: LiveBatch | null) => void>;
  stop: () => void;
  forgetting: NodeJS.Timeout | undefined;
  isGivenUp: boolean;
}

interface Moment {
  readonly entries: LiveEntry[];
  readonly seen: Record<LiveVerdict, number>;
  skipped: number;
  isFull: boolean;
}

/**
 * The last events of each workspace that somebody watches. What nobody watches costs a look into a table that is empty; of what is watched
 * only so many events a moment are decoded, so watching costs the same at any rate. The word of an erasure may be lost, as everything that
 * the channel tells: so whoever begins to watch gets what was kept only after a look at the erasures themselves.
 */
export function createLive({ channel, lastErased, lookMs = LOOK_MS }: LiveDeps): Live {
  const rings = new Map<WorkspaceId, Promise<Ring>>();
  /** Those of them that nobody watches, the longest left first. */
  const left = new Map<WorkspaceId, Ring>();
  const moments = new Map<WorkspaceId, Moment>();

  const send = (workspace: WorkspaceId, told: Told): void => channel.tell(workspace, Buffer.from(JSON.stringify(told)));
  const momentOf = (workspace: WorkspaceId): Moment => {
    const known = moments.get(workspace);
    if (known !== undefined) return known;
    const begun: Moment = {
      entries: [],
      seen: { accepted: 0, marked: 0, quarantined: 0, refused: 0 },
      skipped: 0,
      isFull: false,
    };
    moments.set(workspace, begun);
    setTimeout(() => {
      moments.delete(workspace);
      const { entries, skipped } = begun;
      if (entries.length + skipped > 0) send(workspace, { entries, skipped });
    }, MOMENT_MS).unref();
    return begun;
  };
  const add = (moment: Moment, entry: LiveEntry): void => {
    moment.seen[entry.verdict] += 1;
    if (moment.seen[entry.verdict] > PER_MOMENT[entry.verdict]) {
      moment.skipped += 1;
      moment.isFull = moment.seen.accepted > PER_MOMENT.accepted;
    } else moment.entries.push(entry);
  };

  const sizes = new WeakMap<LiveEntry, number>();
  const lastOf = (entries: readonly LiveEntry[]): readonly LiveEntry[] => {
    let bytes = 0;
    const isTooMuch = (entry: LiveEntry): boolean => (bytes += sizes.get(entry)!) > RING_BYTES_MAX;
    return entries.slice(entries.findLastIndex(isTooMuch) + 1).slice(-ENTRIES_MAX);
  };
  const hear = (workspace: WorkspaceId, ring: Ring, message: Buffer): void => {
    const told = JSON.parse(message.toString("utf8")) as Told;
    if ("forget" in told) return empty(workspace, ring);
    const entries = told.entries.filter(({ at }) => at > ring.erasedAt);
    for (const entry of entries) sizes.set(entry, Buffer.byteLength(JSON.stringify(entry)));
    ring.entries = lastOf([...ring.entries, ...entries]);
    for (const one of ring.watchers) one({ ...told, entries });
  };
  const empty = (workspace: WorkspaceId, ring: Ring): void => {
    ring.entries = [];
    for (const one of ring.watchers) one(null);
    void look(workspace, ring, true);
  };
  /** This gateway needs no channel for it: of the deletion of a dead letter no erasure says what else is to be forgotten. */
  const forget = (workspace: WorkspaceId): void => {
    rings.get(workspace)?.then(
      (ring) => empty(workspace, ring),
      () => {},
    );
    send(workspace, { forget: true });
  };
  /** Answers whether it could be looked at. */
  const look = async (workspace: WorkspaceId, ring: Ring, isTold = false): Promise<boolean> => {
    const seen = await lastErased(workspace).catch(() => null);
    if (seen === null) return false;
    if (seen <= ring.erasedAt) return true;
    ring.erasedAt = seen;
    ring.entries = ring.entries.filter(({ at }) => at > seen);
    if (!isTold) for (const one of ring.watchers) one(null);
    return true;
  };
  const open = async (workspace: WorkspaceId): Promise<Ring> => {
    const ring: Ring = {
      entries: [],
      erasedAt: 0,
      looking: undefined,
      watchers: new Set(),
      stop: () => {},
      forgetting: undefined,
      isGivenUp: false,
    };
    const stop = await channel.watch(workspace, (message) => hear(workspace, ring, message));
    ring.looking = setInterval(() => {
      if (ring.watchers.size > 0) void look(workspace, ring);
    }, lookMs).unref();
    ring.stop = () => {
      clearInterval(ring.looking);
      stop();
    };
    return ring;
  };
  const hold = (workspace: WorkspaceId, ring: Ring): void => {
    clearTimeout(ring.forgetting);
    left.delete(workspace);
  };
  const giveUp = (workspace: WorkspaceId, ring: Ring): void => {
    hold(workspace, ring);
    rings.delete(workspace);
    ring.isGivenUp = true;
    ring.stop();
  };
  const makeRoom = (): void => {
    const [longest] = left;
    if (longest === undefined)
      throw new AppError("unavailable", "Too many workspaces are being watched. Try again later.");
    giveUp(...longest);
  };
  const ringOf = (workspace: WorkspaceId): Promise<Ring> => {
    const known = rings.get(workspace);
    if (known !== undefined) return known;
    if (rings.size >= RINGS_MAX) makeRoom();
    const opening = open(workspace);
    rings.set(workspace, opening);
    opening.catch(() => rings.delete(workspace));
    return opening;
  };
  const leave = (workspace: WorkspaceId, ring: Ring): void => {
    if (ring.watchers.size > 0) return;
    hold(workspace, ring);
    left.set(workspace, ring);
    ring.forgetting = setTimeout(() => giveUp(workspace, ring), KEPT_MS).unref();
  };

  return {
    queued: (messages) => {
      for (const message of messages) {
        const workspace = workspaceOf(message) as WorkspaceId;
        if (!channel.isWatched(workspace)) continue;
        const moment = momentOf(workspace);
        // Not even decoded.
        if (moment.isFull && !hasNotes(message)) moment.skipped += 1;
        else {
          const entry = entryOfMessage(message);
          if (entry !== null) add(moment, entry);
        }
      }
    },
    refused: ({ workspace, keyId, now }, bytes, error) => {
      if (!(error instanceof AppError) || !channel.isWatched(workspace)) return;
      const moment = momentOf(workspace);
      if (moment.seen.refused >= PER_MOMENT.refused) moment.skipped += 1;
      else add(moment, entryOfRefusal(now, keyId, bytes, error));
    },
    forget: (workspace) => {
      const gathered = moments.get(workspace);
      if (gathered !== undefined) {
        gathered.entries.length = 0;
        gathered.skipped = 0;
      }
      forget(workspace);
      // Another gateway may have gathered events before it heard of this.
      setTimeout(() => forget(workspace), 2 * MOMENT_MS).unref();
    },
    watch: async function watch(workspace, told) {
      const ring = await ringOf(workspace);
      if (!ring.isGivenUp) hold(workspace, ring);
      const isLooked = await look(workspace, ring);
      // Its last watcher may have left meanwhile, and another workspace have taken the place.
      if (ring.isGivenUp) return watch(workspace, told);
      hold(workspace, ring);
      if (ring.watchers.size >= WATCHERS_MAX)
        throw new AppError("rate_limited", `This workspace already has ${WATCHERS_MAX} open live streams.`, {
          headers: { "Retry-After": "10" },
        });
      ring.watchers.add(told);
      return {
        entries: isLooked ? ring.entries : [],
        stop: () => {
          if (ring.watchers.delete(told)) leave(workspace, ring);
        },
      };
    },
    close: () => {
      for (const opening of rings.values()) void endOf(opening);
      rings.clear();
      left.clear();
    },
  };
}

async function endOf(opening: Promise<Ring>): Promise<void> {
  const ring = await opening.catch(() => null);
  clearTimeout(ring?.forgetting);
  ring?.stop();
}

/** Of a process that nobody asks. */
export const NO_LIVE: Live = {
  queued: () => {},
  refused: () => {},
  forget: () => {},
  watch: async () => ({ entries: [], stop: () => {} }),
  close: () => {},
};

const LF = 0x0a;
/** Whether something is wrong with it, without decoding it. */
const hasNotes = (message: Buffer): boolean => message.subarray(0, message.indexOf(LF)).includes('"notes":{');

/** The same queue; what it takes is told. */
export function watchedQueue(queue: EventQueue, live: Pick<Live, "queued">): EventQueue {
  return {
    ...queue,
    publish: async (message) => {
      await queue.publish(message);
      live.queued([message]);
    },
    publishAll: async (messages) => {
      await queue.publishAll(messages);
      live.queued(messages);
    },
  };
}
