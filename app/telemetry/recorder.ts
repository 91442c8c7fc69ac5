import type { KeyId, WorkspaceId } from "../../core/ids.js";
import type { Metrics, Sender } from "../../core/metrics.js";
import { minuteOf, type EventOutcome, type StatCount, type StatsStore } from "../../core/stats.js";

interface Cell extends Omit<StatCount, "events"> {
  events: number;
}

/** Outcome -> cell of the present minute. */
type Cells = Map<EventOutcome, Cell>;
type Schemas = Map<string | null, Cells>;

/** Counts what comes in and passes it on every two seconds: one write for thousands of events. */
export interface Recorder {
  count(outcome: EventOutcome, sender: Sender, schemaId: string | null): void;
  /** Resolves when what was counted before stands in the store. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

const FLUSH_MS = 2_000;
/** Combinations in one minute. What is beyond is counted without key and schema. */
const WORKSPACE_CELLS_MAX = 500;
const CELLS_MAX = 20_000;
/** Added together: what fails as a whole is added again as a whole. */
const COUNTS_PER_ADD = 1_000;
/** Kept while the store is away; then the oldest go. */
const PENDING_MAX = 50_000;

export function createRecorder(deps: {
  readonly store: Pick<StatsStore, "add">;
  readonly now: () => number;
  readonly onError: (error: unknown) => void;
}): Recorder {
  const { store, now, onError } = deps;
  /** By key, which belongs to one workspace: names that stand in memory already are found without making a text. */
  let keys = new Map<KeyId | null, Map<WorkspaceId, Schemas>>();
  let cellsOf = new Map<WorkspaceId, number>();
  let cells: Cell[] = [];
  let minute = minuteOf(now());
  let pending: StatCount[] = [];

  const take = (): void => {
    for (const cell of cells) if (cell.events > 0) pending.push({ ...cell });
    for (const cell of cells) cell.events = 0;
    if (pending.length > PENDING_MAX) pending = pending.slice(-PENDING_MAX);
  };
  const turn = (to: number): void => {
    take();
    keys = new Map();
    cellsOf = new Map();
    cells = [];
    minute = to;
  };
  const cellOf = (
    outcome: EventOutcome,
    workspace: WorkspaceId,
    keyId: KeyId | null,
    schemaId: string | null,
  ): Cell => {
    const known = keys.get(keyId)?.get(workspace)?.get(schemaId)?.get(outcome);
    if (known !== undefined) return known;
    const own = cellsOf.get(workspace) ?? 0;
    const isFull = own >= WORKSPACE_CELLS_MAX || cells.length >= CELLS_MAX;
    if (isFull && (keyId !== null || schemaId !== null)) return cellOf(outcome, workspace, null, null);
    const cell: Cell = { workspace, minute, keyId, schemaId, outcome, events: 0 };
    const workspaces = getOrMake(keys, keyId, () => new Map<WorkspaceId, Schemas>());
    const schemas = getOrMake(workspaces, workspace, () => new Map<string | null, Cells>());
    getOrMake(schemas, schemaId, () => new Map<EventOutcome, Cell>()).set(outcome, cell);
    cellsOf.set(workspace, own + 1);
    cells.push(cell);
    return cell;
  };
  const send = async (): Promise<void> => {
    take();
    while (pending.length > 0) {
      const counts = pending.slice(0, COUNTS_PER_ADD);
      pending = pending.slice(COUNTS_PER_ADD);
      try {
        await store.add(counts);
      } catch (error) {
        // Tried again with the next ones. If only the answer was lost, these events are counted twice.
        pending = [...counts, ...pending].slice(-PENDING_MAX);
        throw error;
      }
    }
  };
  let sending: Promise<void> = Promise.resolve();
  const flush = (): Promise<void> => (sending = sending.catch(() => undefined).then(send));
  let isTold = false;
  const flushOrTell = async (): Promise<void> => {
    try {
      await flush();
      isTold = false;
    } catch (error) {
      if (!isTold) onError(error);
      isTold = true;
    }
  };
  const timer = setInterval(() => void flushOrTell(), FLUSH_MS);
  timer.unref();

  return {
    count: (outcome, { workspace, keyId }, schemaId) => {
      const present = minuteOf(now());
      if (present !== minute) turn(present);
      cellOf(outcome, workspace, keyId, schemaId).events += 1;
    },
    flush,
    close: async () => {
      clearInterval(timer);
      await flush().catch(onError);
    },
  };
}

function getOrMake<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}

/** The same, and what comes in is counted for the workspace's statistics too. */
export const withStats = (metrics: Metrics, recorder: Pick<Recorder, "count">): Metrics => ({
  ...metrics,
  accepted: (door, sender, schemaId) => {
    metrics.accepted(door, sender, schemaId);
    recorder.count("accepted", sender, schemaId);
  },
  rejected: (code, sender, schemaId) => {
    metrics.rejected(code, sender, schemaId);
    if (sender !== null) recorder.count(code, sender, schemaId);
  },
  linkRefused: (code, sender) => {
    metrics.linkRefused(code, sender);
    recorder.count(code, sender, null);
  },
  quarantined: (reason, sender, schemaId) => {
    metrics.quarantined(reason, sender, schemaId);
    recorder.count("quarantined", sender, schemaId);
  },
});
