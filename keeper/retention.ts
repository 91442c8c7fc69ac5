import { expiredBefore, retentionsOf } from "../core/catalog/retention.js";
import type { Dataset } from "../core/catalog/catalog.js";
import type { DatasetId, SchemaId, WorkspaceId } from "../core/ids.js";
import type { CatalogStore } from "../core/ports/catalog-store.js";
import type { Arrival, EventStore } from "../core/ports/event-store.js";
import type { Task } from "./task.js";

export interface RetentionDeps {
  /** As the store has it now: what is kept of it for a while could let an event go too early. */
  readonly catalog: Pick<CatalogStore, "workspaces" | "datasets">;
  readonly events: Pick<EventStore, "ofSchema" | "drop">;
  /** Milliseconds since 1970. */
  readonly now: (workspace: WorkspaceId) => number;
}

/** An event is gone within an hour of its time; a walk may take the rest of it. */
const BETWEEN_WALKS_MS = 600_000;
const DROPS_PER_PIECE = 500;
const PAGE = 100;

/** Where the walk stands; it begins anew each time, for an event may be stored long after it was received. */
interface Walk {
  /** Read already, to come. */
  readonly ahead: WorkspaceId[];
  last: WorkspaceId | null;
  /** Inside the first of `ahead`; null: at its beginning. */
  schemaId: SchemaId | null;
  after: Arrival | null;
}

const begin = (): Walk => ({ ahead: [], last: null, schemaId: null, after: null });

/** Drops the events whose retention is over, schema by schema, the oldest first. */
export function createRetention({ catalog, events, now }: RetentionDeps): Task {
  let walk = begin();

  const retentions = async (workspace: WorkspaceId) => {
    const all: Dataset[] = [];
    for (let after: DatasetId | null = null; ;) {
      const page: readonly Dataset[] = await catalog.datasets(workspace, { limit: PAGE, after });
      all.push(...page);
      if (page.length < PAGE) return retentionsOf(all);
      after = page.at(-1)!.datasetId;
    }
  };

  /** False: there is none. */
  const enterWorkspace = async (): Promise<boolean> => {
    if (walk.ahead.length > 0) return true;
    const page = await catalog.workspaces({ limit: PAGE, after: walk.last });
    walk.ahead.push(...page.map(({ workspaceId }) => workspaceId));
    walk.last = walk.ahead.at(-1) ?? null;
    return walk.ahead.length > 0;
  };

  const leaveWorkspace = (): void => {
    walk.ahead.shift();
    walk.schemaId = null;
    walk.after = null;
  };

  /** The oldest events of the schema that had outlived their retention before they were read, and still have. */
  const dropSome = async (workspace: WorkspaceId, schemaId: SchemaId, days: number): Promise<void> => {
    const page = { after: walk.after, until: expiredBefore(days, now(workspace)), limit: DROPS_PER_PIECE };
    const found = await events.ofSchema(workspace, schemaId, page);
    if (found.length > 0) {
      // Read again, right before they go: it may have been lengthened meanwhile.
      const until = expiredBefore((await retentions(workspace)).get(schemaId) ?? Infinity, now(workspace));
      const over = found.filter(({ receivedAt }) => receivedAt < until).map(({ eventId }) => eventId);
      await events.drop(workspace, over, "expired");
    }
    walk.after = found.length < DROPS_PER_PIECE ? null : found.at(-1)!;
    walk.schemaId = walk.after === null ? behind(schemaId) : schemaId;
  };

  return {
    name: "retention",
    step: async () => {
      if (!(await enterWorkspace())) {
        walk = begin();
        return BETWEEN_WALKS_MS;
      }
      const workspace = walk.ahead[0]!;
      const next = [...(await retentions(workspace))].find(([schemaId]) => schemaId >= (walk.schemaId ?? ""));
      if (next === undefined) leaveWorkspace();
      else await dropSome(workspace, ...next);
      return 0;
    },
  };
}

/** The text that comes next. */
const behind = (schemaId: SchemaId): SchemaId => `${schemaId}\0` as SchemaId;
