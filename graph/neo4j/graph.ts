import type { ProfileId, WorkspaceId } from "../../core/ids.js";
import type { Change, ProfileRef } from "../../core/identity/model.js";
import type { WalkedProfile } from "../../core/identity/pages.js";
import type { TombOf } from "../../core/identity/tombstone.js";
import { createHiddenKeys } from "../rules/hidden-keys.js";
import type { Place, GraphCopying } from "../../core/ports/copying.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import { createDeadline } from "../scheduling/deadline.js";
import { HOME, requireAddresses } from "./spread/directory.js";
import { createNeo4jCopying } from "./copy/copy.js";
import { createNeo4jPlace } from "./copy/place.js";
import { createTidying } from "./staging.js";
import { type Client, type ClientOptions, type Parameters, type Row, readLocked } from "./client.js";
import { createErasures } from "./erasure/erasures.js";
import { shown, underWay } from "./erasure/tombstones.js";
import { createGate } from "../scheduling/gate.js";
import { openClient } from "./open.js";
import { createMovements } from "./movements/movements.js";
import { createNewKeyGuess, createRepeats } from "./repeats.js";
import { createProfileReads } from "./pages/pages.js";
import { createRecords } from "./pages/records.js";
import { createLook, createRead } from "./read.js";
import { createBatcher, READS } from "./batcher.js";
import { PING, RESOLVE } from "./cypher/writes.js";
import { withOneRetry } from "./failure.js";
import { createUpdate, type UpdateOptions } from "./transaction.js";
import { PART_ROWS } from "./write.js";

/** With what dumps and loads it, over the same connections. */
export type Neo4jGraph = IdentityGraph & { readonly copying: GraphCopying; readonly place: Place };

/**
 * The graph on a Neo4j server: logs in, makes constraints and indexes if they are not there. Rejects within 10 s with a
 * `ConfigError` that names `NEO4J_URL`, `NEO4J_USER` or `NEO4J_PASSWORD`.
 */
export async function openNeo4jGraph(options: ClientOptions & Pick<GraphOptions, "tombOf">): Promise<Neo4jGraph> {
  const client = await openClient(options);
  await requireAddresses(client, [HOME]);
  return createNeo4jGraph(client, { name: options.url, tombOf: options.tombOf });
}

export interface GraphOptions extends UpdateOptions {
  readonly tombOf: TombOf;
  /** Of the place, for people. */
  readonly name?: string;
  /** Staged members are brought over after this delay, part by part. */
  readonly tidyAfterMs?: number;
}

/** The graph over open connections; closing it closes them. */
export function createNeo4jGraph(client: Client, options: GraphOptions): Neo4jGraph {
  const { tombOf } = options;
  const names = { tombOf, hiddenKeys: createHiddenKeys(tombOf) };
  const newKeys = createNewKeyGuess(NEW_KEYS);
  const look = createLook(client, names);
  const read = createRead(client, look, names);
  const repeats = createRepeats({ client, newKeys, look });
  const resolve = createResolve(client);
  const reads = { ...createProfileReads(client), ...createRecords(client) };
  const erasures = createErasures(client, tombOf);
  const movements = createMovements(client);
  const hidden = createHidden(client, tombOf);
  const { tidyAfterMs = 100, movesMax = PART_ROWS, locks = true } = options;
  const max = Math.min(TIDY_ROWS, Math.max(movesMax, 1));
  const tidying = createTidying(client, { max, pauseMs: tidyAfterMs });
  const update = createUpdate({ client, newKeys, tidying, movesMax, locks, names, erased: new Set() });
  const promptly = createDeadline(READY_MS, "The identity graph did not answer in time.");
  const { whileOpen, close } = createGate(() => client.close());
  tidying.tidyAll();

  return {
    ready: () => whileOpen(() => promptly(async () => void (await withOneRetry(() => client.read(PING, {}))))),
    read: (workspace, want) => whileOpen(() => read(workspace, want)),
    repeats: (workspace, sets) => whileOpen(() => repeats(workspace, sets)),
    update: (...asked) => whileOpen(() => update(...asked)),
    resolve: (workspace, profileId) => whileOpen(() => resolve(workspace, profileId)),
    resolveAll: (workspace, profileIds, membersMax) =>
      whileOpen(() => {
        const profiles = { resolve, members: reads.members };
        return Promise.all(profileIds.map((profileId) => resolveWhole(profiles, workspace, profileId, membersMax)));
      }),
    walk: (workspace, page) => whileOpen(() => reads.walk(workspace, page)),
    members: (workspace, profileId, page) => whileOpen(() => reads.members(workspace, profileId, page)),
    links: (workspace, profileId, page) => whileOpen(() => reads.links(workspace, profileId, page)),
    history: (workspace, profileId, page) =>
      whileOpen(() =>
        hidden(workspace, async () => reads.findChanges(workspace, await reads.historyIds(workspace, profileId, page))),
      ),
    historyIds: (...asked) => whileOpen(() => reads.historyIds(...asked)),
    linksOfChange: (workspace, change) => whileOpen(() => reads.linksOfChange(workspace, change)),
    linksRemovedBy: (...asked) => whileOpen(() => reads.linksRemovedBy(...asked)),
    markedAt: (workspace, key, changeId) => whileOpen(() => reads.markedAt(workspace, key, changeId)),
    findForbiddenPairs: (workspace, forbiddenPairIds) =>
      whileOpen(() => reads.findForbiddenPairs(workspace, forbiddenPairIds)),
    forbiddenPairs: (workspace, page) => whileOpen(() => reads.forbiddenPairs(workspace, page)),
    findChange: (workspace, changeId) =>
      whileOpen(async () => (await hidden(workspace, () => reads.findChanges(workspace, [changeId])))[0] ?? null),
    findChanges: (workspace, changeIds) =>
      whileOpen(() => hidden(workspace, () => reads.findChanges(workspace, changeIds))),
    changes: (workspace, outcome, page) =>
      whileOpen(() => hidden(workspace, () => reads.changes(workspace, outcome, page))),
    sharedIdentifiers: (workspace, page) => whileOpen(() => reads.sharedIdentifiers(workspace, page)),
    identifiersOf: (workspace, uids) => whileOpen(() => reads.identifiersOf(workspace, uids)),
    hasIdentifiers: (workspace, namespace) => whileOpen(() => reads.hasIdentifiers(workspace, namespace)),
    previewErasure: (...asked) => whileOpen(() => erasures.previewErasure(...asked)),
    erase: (...asked) => whileOpen(() => erasures.erase(...asked)),
    continueErasure: (...asked) => whileOpen(() => erasures.continueErasure(...asked)),
    findErasure: (...asked) => whileOpen(() => erasures.findErasure(...asked)),
    findErasures: (...asked) => whileOpen(() => erasures.findErasures(...asked)),
    erasures: (...asked) => whileOpen(() => erasures.erasures(...asked)),
    openErasures: (page) => whileOpen(() => erasures.openErasures(page)),
    advanceErasure: (...asked) => whileOpen(() => erasures.advanceErasure(...asked)),
    countLate: (...asked) => whileOpen(() => erasures.countLate(...asked)),
    readmit: (...asked) => whileOpen(() => erasures.readmit(...asked)),
    hasErasures: (workspace) => whileOpen(() => erasures.hasErasures(workspace)),
    lastErasedAt: (workspace) => whileOpen(() => erasures.lastErasedAt(workspace)),
    tombstones: (...asked) => whileOpen(() => erasures.tombstones(...asked)),
    livingUids: (...asked) => whileOpen(() => erasures.livingUids(...asked)),
    foreignUids: (...asked) => whileOpen(() => erasures.foreignUids(...asked)),
    buried: (...asked) => whileOpen(() => erasures.buried(...asked)),
    restoreErasure: (...asked) => whileOpen(() => erasures.restoreErasure(...asked)),
    watch: (workspace) => whileOpen(() => movements.watch(workspace)),
    moved: (...asked) => whileOpen(() => movements.moved(...asked)),
    clearMoved: (...asked) => whileOpen(() => movements.clearMoved(...asked)),
    close,
    copying: createNeo4jCopying(client),
    place: createNeo4jPlace(client, options.name ?? "Neo4j"),
  };
}

/** What an erasure did not rewrite yet is hidden; which are under way is read first, since one may end meanwhile. */
function createHidden(client: Client, tombOf: TombOf) {
  const ask = (statement: string, q: Parameters) => withOneRetry(() => client.read(statement, q));
  return async (ws: WorkspaceId, find: () => Promise<readonly Change[]>): Promise<readonly Change[]> => {
    const ids = await underWay(ask, ws);
    return shown(ask, tombOf, ws, await find(), ids);
  };
}

const READY_MS = 900;
/** Members brought over in one step, while the workspace waits. */
const TIDY_ROWS = 1_000;
/** Keys of 10,000 requests that name two. A wrong guess costs three round trips more, a right one saves one. */
const NEW_KEYS = { max: 20_000, stepsOfRun: 16 };

type ProfileRow = readonly [n: number, ws: WorkspaceId, profileId: ProfileId | null, size: number | null];

function createResolve(client: Client): IdentityGraph["resolve"] {
  const share = createBatcher<ProfileId, ProfileRow | undefined>({
    ...READS,
    weightOf: () => 1,
    ask: async (uids) => {
      const rows = profileRows(await withOneRetry(() => client.read(RESOLVE, { uids })));
      const byPosition = new Map(rows.map((row) => [row[0], row]));
      return uids.map((_, i) => byPosition.get(i));
    },
  });
  return async (workspace, profileId) => {
    const row = await share(profileId);
    // An identifier keeps its uid for ever, so a uid that is not found does not exist.
    if (row === undefined || row[1] !== workspace) return null;
    if (row[2] !== null && row[3] !== null) return profileOf(row);
    const [sure] = profileRows(await readLocked(client, workspace, RESOLVE, { uids: [profileId] }));
    return sure === undefined ? null : profileOf(sure);
  };
}

async function resolveWhole(
  { resolve, members: membersOf }: Pick<IdentityGraph, "resolve" | "members">,
  workspace: WorkspaceId,
  id: ProfileId,
  membersMax: number,
): Promise<WalkedProfile | null> {
  const found = await resolve(workspace, id);
  if (found === null || found.size > membersMax) return found && { ...found, members: null };
  const members = await membersOf(workspace, found.profileId, { limit: membersMax, after: null });
  // It merged meanwhile, or was taken apart.
  return { ...found, members: members.length === found.size ? members : null };
}

const profileRows = ([row]: readonly Row[]): readonly ProfileRow[] => row![0] as readonly ProfileRow[];

const profileOf = ([, , profileId, size]: ProfileRow): ProfileRef | null =>
  profileId === null || size === null ? null : { profileId, size };
