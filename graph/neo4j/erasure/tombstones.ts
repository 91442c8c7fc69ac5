import { identifierKey } from "../../../core/event/event.js";
import type { ErasureId, IdentifierKey, Tomb, Uid, WorkspaceId } from "../../../core/ids.js";
import type { Change } from "../../../core/identity/model.js";
import { namesOf, withoutErased } from "../../../core/identity/names.js";
import type { Tombstone, TombOf } from "../../../core/identity/tombstone.js";
import { tombstoneOf, type Trace } from "../../rules/tombstones.js";
import { HAS_ERASURES, RECORD_NAMING, UNDER_WAY } from "../cypher/erasure.js";
import { LIVING_KEYS, TOMBSTONES } from "../cypher/tombstones.js";
import { namesInRecord } from "../changes.js";
import type { Ask } from "../client.js";

type Row = readonly [n: number, erasureId: ErasureId, erasedAt: number, isSuppressed: boolean, uid: Uid | null];
type NamingRow = readonly [tomb: Tomb, identifiers: readonly string[], dropped: readonly string[] | null];

async function tracesOf(
  ask: Ask,
  tombOf: TombOf,
  ws: WorkspaceId,
  keys: readonly IdentifierKey[],
): Promise<ReadonlyMap<IdentifierKey, readonly Trace[]>> {
  const own = keys.filter((key) => key.startsWith(`${ws}:`));
  const traces = new Map<IdentifierKey, Trace[]>();
  if (own.length === 0) return traces;
  const rows = (await ask(TOMBSTONES, { ws, keys: own, tombs: own.map(tombOf) })) as unknown as readonly Row[];
  for (const [n, erasureId, erasedAt, isSuppressed, uid] of rows) {
    const key = own[n]!;
    traces.set(key, [...(traces.get(key) ?? []), { erasureId, erasedAt, isSuppressed, uid }]);
  }
  return traces;
}

/** What is left of those of the keys that were erased. */
export async function readTombstones(
  ask: Ask,
  tombOf: TombOf,
  ws: WorkspaceId,
  keys: readonly IdentifierKey[],
): Promise<ReadonlyMap<IdentifierKey, Tombstone>> {
  const traces = await tracesOf(ask, tombOf, ws, keys);
  return new Map([...traces].map(([key, all]) => [key, tombstoneOf(all)!]));
}

/** Those of these whom records name and who are in no profile. */
export async function strangersOf(
  ask: Ask,
  tombOf: TombOf,
  ws: WorkspaceId,
  tombs: readonly Tomb[],
): Promise<readonly Tomb[]> {
  const rows = (await ask(RECORD_NAMING, { tombs })) as unknown as readonly NamingRow[];
  const named = rows.map(([tomb, identifiers, dropped]) => {
    const keys = namesOf(namesInRecord(identifiers, dropped)).map((one) => identifierKey(ws, one));
    return { tomb, key: keys.find((one) => tombOf(one) === tomb) };
  });
  const keys = named.flatMap(({ key }) => key ?? []);
  if (keys.length === 0) return named.map(({ tomb }) => tomb);
  const living = new Set((await ask(LIVING_KEYS, { ws, keys })).map(([n]) => keys[n as number]!));
  return named.filter(({ key }) => key === undefined || !living.has(key)).map(({ tomb }) => tomb);
}

export const hasErasures = async (ask: Ask, ws: WorkspaceId): Promise<boolean> =>
  (await ask(HAS_ERASURES, { ws })).length > 0;

/** Those that are not taken apart yet: read before the records are. */
export const underWay = async (ask: Ask, ws: WorkspaceId): Promise<readonly ErasureId[]> =>
  (await ask(UNDER_WAY, { ws })).map(([id]) => id as ErasureId);

const keysNamedIn = (ws: WorkspaceId, changes: readonly Change[]): readonly IdentifierKey[] => [
  ...new Set(changes.flatMap((change) => namesOf(change).map((one) => identifierKey(ws, one)))),
];

/** Records as they are shown before they are rewritten. */
export async function shown(
  ask: Ask,
  tombOf: TombOf,
  ws: WorkspaceId,
  changes: readonly Change[],
  erasures: readonly ErasureId[],
): Promise<readonly Change[]> {
  if (changes.length === 0 || erasures.length === 0) return changes;
  const traces = await tracesOf(ask, tombOf, ws, keysNamedIn(ws, changes));
  const isErased = (key: IdentifierKey): boolean =>
    traces.get(key)?.some(({ erasureId }) => erasures.includes(erasureId)) === true;
  return changes.map((change) => withoutErased(change, (one) => isErased(identifierKey(ws, one))));
}

/** Records as they are written, if they were made before the erasure. */
export async function written(
  ask: Ask,
  tombOf: TombOf,
  ws: WorkspaceId,
  changes: readonly Change[],
  isKnown: (key: IdentifierKey) => boolean,
): Promise<readonly Change[]> {
  const keys = keysNamedIn(ws, changes).filter((key) => !isKnown(key));
  if (keys.length === 0) return changes;
  const living = new Set((await ask(LIVING_KEYS, { ws, keys })).map(([n]) => keys[n as number]!));
  const dead = await readTombstones(
    ask,
    tombOf,
    ws,
    keys.filter((key) => !living.has(key)),
  );
  return changes.map((change) => withoutErased(change, (one) => dead.has(identifierKey(ws, one))));
}
