import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { NO_AUDIENCES } from "../../../core/audience/audience.js";
import { identifierOf, type EventRecord, type Identifier } from "../../../core/event/event.js";
import type { Contribution } from "../../../core/profile/facet.js";
import { newId, type EventId, type Uid, type WorkspaceId } from "../../../core/ids.js";
import { NO_METRICS } from "../../../core/metrics.js";
import type { EventStore } from "../../../core/ports/event-store.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import type { ProfileStore } from "../../../core/ports/profile-store.js";
import type { Services } from "../../../commands/services.js";
import { profileRoutes } from "../../../gateway/routes/profiles.js";
import type { Context, Reply } from "../../../gateway/route.js";
import { createIdentity } from "../../../graph/identity.js";
import { createSqliteGraph } from "../../../graph/sqlite/graph.js";
import { GRAPH_TABLES } from "../../../graph/sqlite/schema.js";
import { createEmbeddedEventStore } from "../../../store/embedded/events/events.js";
import { openEmbedded } from "../../../store/embedded/open.js";
import { createEmbeddedProfileStore } from "../../../store/embedded/profiles.js";
import { createTables } from "../../../store/embedded/schema.js";
import { completeEvents } from "../../../worker/complete-events.js";
import type { Item } from "../../../worker/dead-letter.js";
import { aKey, aSchema, noAudiences, nobodyErased, tombOf } from "../builders.js";
import { nameOf } from "../trust/model.js";

/** The embedded store with all that an event goes through behind the queue. */
export interface Ports {
  readonly events: EventStore;
  readonly profiles: ProfileStore;
  readonly graph: IdentityGraph;
  close(): Promise<void>;
}

export async function openPorts(): Promise<Ports> {
  const dataDir = mkdtempSync(path.join(tmpdir(), "onym-merge-"));
  const onError = (message: string, cause: unknown): never => {
    throw new Error(message, { cause });
  };
  const store = await openEmbedded({ dataDir, checkpointMs: 60_000, onError });
  const { database } = store;
  createTables(database, GRAPH_TABLES);
  return {
    events: createEmbeddedEventStore({ database, tombOf }),
    profiles: createEmbeddedProfileStore({ database }),
    graph: createSqliteGraph({ database, tombOf }),
    close: async () => {
      await store.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** A workspace, seen as the worker, the gateway and an operator see it. */
export function createMergeBench({ events, profiles, graph }: Ports, names: readonly string[]) {
  const workspace = newId<WorkspaceId>();
  const base = newId<Uid>().slice(0, -2);
  const uidOf = (name: string): Uid => `${base}${String(names.indexOf(name)).padStart(2, "0")}` as Uid;
  const clock = { now: 0 };
  const begin = () =>
    createIdentity({
      graph,
      timeoutMs: 60_000,
      newUid: (key) => uidOf(nameOf(identifierOf(key))),
      now: () => clock.now,
    });
  const identity = begin();
  const limits = { profileIdentifiersMax: 1_000 };
  const audiences = { audiences: async () => NO_AUDIENCES };
  const routes = profileRoutes({ identity, profiles, events, audiences, limits } as unknown as Services);
  const { handle } = routes.find(({ method, path: at }) => method === "get" && at === "/v1/profiles/:id")!;

  return {
    workspace,
    identity,
    clock,
    /** One batch of a worker that was started just now. */
    deliver: (batch: readonly SmallEvent[]): Promise<void> => {
      const items = batch.map((event, index): Item => ({
        index,
        delivery: DELIVERY,
        event: recordOf(workspace, event),
      }));
      const catalog = {
        findWorkspace: async () => null,
        findSchema: async () => SCHEMA,
        backfillsOf: async () => [],
        findDataset: async () => null,
      };
      const of = { late: nobodyErased, ...noAudiences, metrics: NO_METRICS, now: () => clock.now };
      const deps = { events, catalog, identity: begin(), contribute, ...of };
      return completeEvents(deps, async () => SCHEMA, workspace, items);
    },
    /** As clients read it, by the id of one identifier; ids are told by names, since those of two workspaces differ. */
    show: async (name: string): Promise<unknown> => {
      const { json } = (await handle({
        workspace,
        now: 0,
        params: { id: uidOf(name) },
        takeBytes: async () => false,
      } as unknown as Context)) as Reply;
      return JSON.parse(String(json).replaceAll(base, "uid "));
    },
    /** All that stands of links and records. */
    standing: async () => {
      const refs = new Set<Uid>();
      for (const name of names) {
        const ref = await identity.resolve(workspace, uidOf(name));
        if (ref !== null) refs.add(ref.profileId);
      }
      const links = await Promise.all(
        [...refs].map((profileId) => identity.links(workspace, profileId, { limit: 1_000, after: null })),
      );
      return { links, changes: await identity.changes(workspace, null, { limit: 1_000, before: null }) };
    },
  };
}
export type MergeBench = ReturnType<typeof createMergeBench>;

/** What matters of an event here. */
export interface SmallEvent {
  readonly number: number;
  /** The first is the facet's. */
  readonly identifiers: readonly Identifier[];
  readonly city: string;
  readonly amount: number;
}

export const eventIdOf = ({ number }: SmallEvent): EventId =>
  `00000000-0000-7000-8000-${String(number).padStart(12, "0")}` as EventId;

const DELIVERY: Item["delivery"] = { message: Buffer.alloc(0), attempts: 0, failedAt: null, crashes: 0 };
const SCHEMA = aSchema();

const recordOf = (workspace: WorkspaceId, event: SmallEvent): EventRecord => ({
  workspace,
  eventId: eventIdOf(event),
  schemaId: SCHEMA.schemaId,
  schemaVersion: 1,
  timestamp: "2026-01-01T00:00:00Z",
  receivedAt: event.number,
  // Not in the order of arrival.
  effectiveTs: `2026-01-01T00:00:${String((event.number * 37) % 60).padStart(2, "0")}.000000000Z`,
  folds: true,
  identifiers: event.identifiers,
  dropped: [],
  keyId: aKey().keyId,
  scoped: false,
  fingerprint: null,
  notes: null,
  payload: Buffer.from(JSON.stringify({ city: event.city, amount: event.amount })),
});

function contribute(_: unknown, payload: unknown): Contribution["traits"] {
  const { city, amount } = payload as { readonly city: string; readonly amount: number };
  return [
    { name: "city", merge: "latest", value: city },
    { name: "first_city", merge: "first", value: city },
    { name: "cities", merge: "union", value: city },
    { name: "least", merge: "min", value: amount },
    { name: "most", merge: "max", value: amount },
  ];
}
