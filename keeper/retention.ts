import { readRetentions } from "../commands/datasets/retentions.js";
import { isDamaged } from "../core/errors.js";
import { describeError, type Log } from "../core/log.js";
import { expiredBefore } from "../core/catalog/retention.js";
import type { SchemaId, Uid, WorkspaceId } from "../core/ids.js";
import type { AudienceStore } from "../core/ports/audience-store.js";
import type { CatalogStore } from "../core/ports/catalog-store.js";
import type { Arrival, EventStore } from "../core/ports/event-store.js";
import type { MarkStore } from "../core/ports/mark-store.js";
import type { Task } from "./task.js";

export interface RetentionDeps {
  /** As the store has it now: what is kept of it for a while could let an event go too early. */
  readonly catalog: Pick<CatalogStore, "workspaces" | "datasets">;
  readonly events: Pick<EventStore, "ofSchema" | "drop" | "looseLetters" | "removeLetters">;
  readonly audiences: Pick<AudienceStore, "audiences">;
  readonly marks: Pick<MarkStore, "mark">;
  readonly log: Log;
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
  /** Of the first of `ahead`, schema by schema; null: not read yet. What is about to go is judged by what the catalog says then. */
  retentions: readonly (readonly [SchemaId, number])[] | null;
  /** The place in them, and inside that schema. */
  at: number;
  after: Arrival | null;
  /** Events, and what never became one, that this walk deleted of the schema. */
  deleted: number;
}

const begin = (): Walk => ({ ahead: [], last: null, retentions: null, at: 0, after: null, deleted: 0 });

/** Drops the events whose retention is over, schema by schema, the oldest first. */
export function createRetention({ catalog, events, audiences, marks, log, now }: RetentionDeps): Task {
  let walk = begin();

  const readAll = (workspace: WorkspaceId) => readRetentions({ catalog }, workspace);

  /** False: there is none. */
  const enterWorkspace = async (): Promise<boolean> => {
    if (walk.ahead.length > 0) return true;
    const page = await catalog.workspaces({ limit: PAGE, after: walk.last });
    walk.ahead.push(...page.map(({ workspaceId }) => workspaceId));
    walk.last = walk.ahead.at(-1) ?? null;
    return walk.ahead.length > 0;
  };

  /** Has somebody look at the profiles of these facets, if the workspace has audiences. */
  const follow = async (workspace: WorkspaceId, facets: readonly Uid[]): Promise<void> => {
    if (facets.length === 0 || (await audiences.audiences(workspace)).audiences.length === 0) return;
    await marks.mark(workspace, facets, now(workspace));
  };

  /** What stands on a damaged page cannot be deleted: it is passed over, so that the others of its schema go. Adds up what `work` answers. */
  const passingDamaged = async <Id extends string>(
    workspace: WorkspaceId,
    ids: readonly Id[],
    work: (some: readonly Id[]) => Promise<number>,
  ): Promise<number> => {
    try {
      return await work(ids);
    } catch (error) {
      if (!isDamaged(error)) throw error;
      if (ids.length === 1) {
        log.error({ workspace, id: ids[0], ...describeError(error) }, "retention passes over a damaged record");
        return 0;
      }
      const half = Math.ceil(ids.length / 2);
      const first = await passingDamaged(workspace, ids.slice(0, half), work);
      return first + (await passingDamaged(workspace, ids.slice(half), work));
    }
  };

  /** The oldest events of the schema that had outlived their retention before they were read, and still have. False: there are no more. */
  const dropSome = async (
    workspace: WorkspaceId,
    schemaId: SchemaId,
    days: number,
    after: Arrival | null,
  ): Promise<{ readonly last: Arrival | null } | false> => {
    const page = { after, until: expiredBefore(days, now(workspace)), limit: DROPS_PER_PIECE };
    const found = await events.ofSchema(workspace, schemaId, page);
    if (found.length > 0) {
      // Read again, right before they go: it may have been lengthened meanwhile.
      const until = expiredBefore((await readAll(workspace)).get(schemaId) ?? Infinity, now(workspace));
      const over = found.filter(({ receivedAt }) => receivedAt < until);
      const facets = over.flatMap(({ facet }) => facet ?? []);
      // Whoever dies between the two leaves marks, and what was dropped is found no more.
      await follow(workspace, facets);
      const ids = over.map(({ eventId }) => eventId);
      walk.deleted += await passingDamaged(workspace, ids, (some) => events.drop(workspace, some, "expired"));
      await follow(workspace, facets);
    }
    const last = found.length < DROPS_PER_PIECE ? null : found.at(-1)!;
    return (last !== null || (await removeSome(workspace, schemaId, days))) && { last };
  };

  /** The same for what never became an event. False: there are no more, or all of them are damaged. */
  const removeSome = async (workspace: WorkspaceId, schemaId: SchemaId, days: number): Promise<boolean> => {
    const page = { until: expiredBefore(days, now(workspace)), limit: DROPS_PER_PIECE };
    const found = await events.looseLetters(workspace, schemaId, page);
    if (found.length === 0) return false;
    const until = expiredBefore((await readAll(workspace)).get(schemaId) ?? Infinity, now(workspace));
    const over = found.filter(({ receivedAt }) => receivedAt < until).map(({ deadLetterId }) => deadLetterId);
    const removed = await passingDamaged(workspace, over, (some) => events.removeLetters(workspace, some));
    walk.deleted += removed;
    // The page begins with those that stay: where nothing went, it would come again.
    return found.length === DROPS_PER_PIECE && removed > 0;
  };

  const tellDeleted = (workspace: WorkspaceId, schemaId: SchemaId): void => {
    const { deleted } = walk;
    walk.deleted = 0;
    if (deleted > 0)
      log.info({ workspace, schema_id: schemaId, deleted }, "retention deleted what was kept for its time");
  };

  return {
    name: "retention",
    step: async () => {
      if (!(await enterWorkspace())) {
        walk = begin();
        return BETWEEN_WALKS_MS;
      }
      // A workspace, and then a schema, counts as done before it is tended: one that fails must not hold up the others in the next piece.
      const { retentions: known, at, after } = walk;
      const workspace = walk.ahead.shift()!;
      Object.assign(walk, { retentions: null, at: 0, after: null });
      const retentions = known ?? [...(await readAll(workspace))];
      const next = retentions[at];
      if (next === undefined) return 0;
      walk.ahead.unshift(workspace);
      Object.assign(walk, { retentions, at: at + 1 });
      let more: Awaited<ReturnType<typeof dropSome>> = false;
      try {
        more = await dropSome(workspace, ...next, after);
      } finally {
        if (more === false) tellDeleted(workspace, next[0]);
      }
      if (more !== false) Object.assign(walk, { at, after: more.last });
      return 0;
    },
  };
}
