import { createSqliteGraphCopying } from "../../../graph/sqlite/copy/copy.js";
import { createSqliteGraph } from "../../../graph/sqlite/graph.js";
import { GRAPH_TABLES } from "../../../graph/sqlite/schema.js";
import { createEmbeddedMarkStore } from "../../../store/embedded/audiences/marks.js";
import { createEmbeddedSeatStore } from "../../../store/embedded/audiences/seats.js";
import { createEmbeddedMemberCopying } from "../../../store/embedded/copy/members.js";
import { createEmbeddedCopying } from "../../../store/embedded/copy/copy.js";
import { createEmbeddedPlace } from "../../../store/embedded/copy/place.js";
import { createEmbeddedQueueCopying } from "../../../store/embedded/copy/queue.js";
import { createEmbeddedEventStore } from "../../../store/embedded/events/events.js";
import { createEmbeddedProfileStore } from "../../../store/embedded/profiles.js";
import { createTables } from "../../../store/embedded/schema.js";
import type { QueueCopying } from "../../../core/ports/copying.js";
import type { CopiedDocuments, CopiedGraph } from "../../contracts/copying.contract.js";
import type { CopiedMembers } from "../../contracts/copying-members.contract.js";
import type { ClosablePlace } from "../../contracts/place.contract.js";
import { tombOf } from "../builders.js";
import { embedded } from "../backends.js";
import type { Backend } from "../contract.js";
import { SERVERS } from "../servers/servers.js";

const onServers = SERVERS === null ? null : (await import("./server-backends.js")).copiedServerBackends(SERVERS);

export const copiedGraphBackends: readonly Backend<CopiedGraph>[] = [
  embedded("SQLite", (database) => {
    createTables(database, GRAPH_TABLES);
    return { ...createSqliteGraph({ database, tombOf }), copying: createSqliteGraphCopying({ database }) };
  }),
  ...(onServers?.graph ?? []),
];

export const copiedDocumentBackends: readonly Backend<CopiedDocuments>[] = [
  embedded("SQLite", (database) => {
    const events = createEmbeddedEventStore({ database, tombOf });
    const profiles = createEmbeddedProfileStore({ database });
    const close = async (): Promise<void> => void (await Promise.all([events.close(), profiles.close()]));
    return { events, profiles, copying: createEmbeddedCopying({ database, tombOf }), close };
  }),
  ...(onServers?.documents ?? []),
];

export const copiedMemberBackends: readonly Backend<CopiedMembers>[] = [
  embedded("SQLite", (database) => {
    const [seats, marks] = [createEmbeddedSeatStore({ database }), createEmbeddedMarkStore({ database })];
    const close = async (): Promise<void> => void (await Promise.all([seats.close(), marks.close()]));
    return { seats, marks, copying: createEmbeddedMemberCopying({ database }), close };
  }),
  ...(onServers?.members ?? []),
];

export const queueCopyingBackends: readonly Backend<QueueCopying>[] = [
  embedded("SQLite", createEmbeddedQueueCopying),
  ...(onServers?.queues ?? []),
];

export const placeBackends: readonly Backend<ClosablePlace>[] = [
  embedded("SQLite", (database) => ({ ...createEmbeddedPlace(database, "folder"), close: async () => undefined })),
  ...(onServers?.places ?? []),
];
