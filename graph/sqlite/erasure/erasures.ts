import type { Database } from "../../../core/database.js";
import { broughtInLine, type Buried, type Erasure, type ErasureResult } from "../../../core/identity/erasure.js";
import { identifierKey } from "../../../core/event/event.js";
import { namesOf } from "../../../core/identity/names.js";
import type { Tomb, Uid, WorkspaceId } from "../../../core/ids.js";
import type { TombOf } from "../../../core/identity/tombstone.js";
import type { Erasures } from "../../../core/ports/identity-graph.js";
import { prepareFindChange } from "../changes.js";
import { changeIdOf } from "../encoding.js";
import { prepareFindLocation } from "../locations.js";
import { eachInTurns, inTurns, type Read } from "../pages.js";
import { prepareFindProfile } from "../profiles.js";
import type { ErasureRecords } from "./records.js";
import { newestOf, ofAnotherWorkspace, previewOf, repeated, revisionOf } from "../../rules/erasing.js";
import { prepareFind, prepareSeal } from "./seal.js";
import { prepareBury, prepareTakeApart } from "./take-apart.js";
import type { Tombstones } from "./tombstones.js";

/** So much is taken apart in the step that seals; a profile of more links goes on afterwards. */
const AT_ONCE = 500;

interface Deps {
  readonly database: Database;
  readonly records: ErasureRecords;
  readonly tombstones: Tombstones;
  readonly tombOf: TombOf;
  readonly read: Read;
  readonly write: Read;
}

export function createErasures(deps: Deps): Erasures {
  const { records, read, write } = deps;
  const find = prepareFind(deps);
  const erase = prepareErase(deps, find);
  const takeApart = prepareTakeApart(deps.database, records, deps.tombOf);
  return {
    previewErasure: (workspace, target) => read(() => previewOf(find(workspace, target))),
    erase: (workspace, request) => write(() => erase(workspace, request)),
    continueErasure: (workspace, erasureId, max) => write(() => takeApart(workspace, erasureId, max)),
    findErasure: (workspace, erasureId) => read(() => records.find(workspace, erasureId)),
    findErasures: async (workspace, erasureIds) => {
      const found = await eachInTurns(read, erasureIds, (erasureId) => records.find(workspace, erasureId));
      return found.filter((one) => one !== null);
    },
    erasures: (workspace, { limit, before }) =>
      inTurns(read, limit, (last: Erasure | undefined, most) =>
        records.newest(workspace, last?.erasureId ?? before, most),
      ),
    openErasures: ({ limit, after }) =>
      inTurns(read, limit, (last: Erasure | undefined, most) => records.open(last?.erasureId ?? after, most)),
    advanceErasure: (workspace, erasureId, rev, advance) =>
      write(() => (records.advance(workspace, erasureId, rev, advance) ? records.find(workspace, erasureId) : null)),
    countLate: (workspace, erasureId, events, at) => write(() => records.countLate(workspace, erasureId, events, at)),
    readmit: (workspace, erasureId, at) =>
      write(() => {
        records.readmit(workspace, erasureId, at);
        return records.find(workspace, erasureId);
      }),
    hasErasures: (workspace) => read(() => records.hasAny(workspace)),
    lastErasedAt: (workspace) => read(() => records.lastErasedAt(workspace)),
    ...createTombReads(deps),
  };
}

/** Whether records name somebody with this tombstone who is in no profile: one of the records tells who it is. */
function prepareIsStranger({ database, tombOf }: Deps) {
  const mention = database.prepare("SELECT change FROM mentions WHERE tomb = ? LIMIT 1");
  const findChange = prepareFindChange(database);
  const findLocation = prepareFindLocation(database);
  return (workspace: WorkspaceId, tomb: Tomb): boolean => {
    const found = mention.get([tomb]) as readonly [Buffer] | undefined;
    if (found === undefined) return false;
    const change = findChange(workspace, changeIdOf(found[0].toString("hex")));
    const keys = change === null ? [] : namesOf(change).map((one) => identifierKey(workspace, one));
    const key = keys.find((one) => tombOf(one) === tomb);
    return key === undefined || findLocation(workspace, key) === undefined;
  };
}

function createTombReads(
  deps: Deps,
): Pick<Erasures, "tombstones" | "livingUids" | "foreignUids" | "buried" | "restoreErasure"> {
  const { database, records, tombstones, read, write } = deps;
  const findProfile = prepareFindProfile(database);
  const page = database.prepare(
    "SELECT tomb, uid FROM tombstones WHERE erasure = ? AND tomb > ? ORDER BY tomb LIMIT ?",
  );
  const bury = prepareBury(database);
  const isStranger = prepareIsStranger(deps);
  // A sealed component has no workspace: its erasure has.
  const foreign = database.prepare(
    `SELECT 1 FROM identifiers i JOIN components c ON c.id = i.component
       LEFT JOIN erasures e ON e.component = c.id AND c.size < 0
     WHERE i.uid = ?1 AND coalesce(e.ws, c.ws) <> ?2
     UNION ALL
     SELECT 1 FROM tombstones t JOIN erasures e ON e.id = t.erasure WHERE t.uid = ?1 AND e.ws <> ?2
     LIMIT 1`,
  );
  return {
    tombstones: async (workspace, keys) => {
      const found = await eachInTurns(read, keys, (key) => [key, tombstones.of(workspace, key)] as const);
      return new Map(found.flatMap(([key, tombstone]) => (tombstone === null ? [] : [[key, tombstone] as const])));
    },
    livingUids: async (workspace, uids) => {
      const found = await eachInTurns(read, uids, (uid) => (findProfile(workspace, uid) === null ? [] : [uid]));
      return new Set(found.flat());
    },
    foreignUids: async (workspace, uids) => {
      const found = await eachInTurns(read, uids, (uid) => (foreign.get([uid, workspace]) === undefined ? [] : [uid]));
      return new Set(found.flat());
    },
    buried: (workspace, erasureId, { limit, after }) =>
      inTurns(read, limit, (last: Buried | undefined, most) => {
        if (records.find(workspace, erasureId) === null) return [];
        const rows = page.all([erasureId, last?.tomb ?? after ?? "", most]) as readonly (readonly [Tomb, Uid | null])[];
        return rows.map(([tomb, uid]) => ({ tomb, uid }));
      }),
    restoreErasure: (workspace, erasure, buried) =>
      write(() => {
        records.insert({ ...erasure, workspace }, null, []);
        const standing = records.find(workspace, erasure.erasureId);
        if (standing === null) throw ofAnotherWorkspace(erasure);
        const renewal = broughtInLine(standing, erasure);
        if (renewal !== null) records.renew(renewal);
        const named = buried
          .filter(({ tomb, uid }) => bury(erasure.erasureId, tomb, uid) && isStranger(workspace, tomb))
          .map(({ tomb }) => tomb);
        if (named.length > 0) records.reopen(erasure.erasureId, named);
      }),
  };
}

function prepareErase(deps: Deps, find: ReturnType<typeof prepareFind>) {
  const { records } = deps;
  const seal = prepareSeal(deps);
  const takeApart = prepareTakeApart(deps.database, records, deps.tombOf);
  return (...[workspace, request]: Parameters<Erasures["erase"]>): ErasureResult => {
    const found = find(workspace, request.target);
    if (found.kind === "unknown" || found.kind === "several") return found;
    if (found.kind === "dead") {
      const changed = repeated(found, request);
      for (const one of changed) records.renew(one);
      return { kind: "repeated", erasure: records.find(workspace, newestOf(found).erasureId)!, changed };
    }
    if (request.revision !== null && request.revision !== revisionOf(found)) return { kind: "changed" };
    const erasureId = seal(workspace, request, found);
    return { kind: "erased", erasure: takeApart(workspace, erasureId, AT_ONCE)! };
  };
}
