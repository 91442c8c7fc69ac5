import { identifierKey } from "../../../core/event/event.js";
import type { ChangeId, ErasureId, IdentifierKey, Tomb, Uid, WorkspaceId } from "../../../core/ids.js";
import type { Erasure } from "../../../core/identity/erasure.js";
import { isNamed, withoutErased } from "../../../core/identity/names.js";
import type { TombOf } from "../../../core/identity/tombstone.js";
import { namesInRecord, recordOfNames } from "../changes.js";
import { whole, type Row, type Step } from "../client.js";
import {
  BURY,
  DROP_MENTIONS,
  END_ERASURE,
  FIND_ERASURE,
  REWRITE_RECORDS,
  SEALED_MEMBERS,
  TAKE_LINKS,
  TAKE_MEMBERS,
  TAKE_MENTIONS,
  TAKE_RECORDS,
  TOMBS_OF_UIDS,
  TOOK,
} from "../cypher/erasure.js";
import { firstErasureOf, storedErasureOf } from "./rows.js";

/** Members that go in one call: the rest of its room is for their links and records. */
const MEMBERS_MAX = 100;

interface Work {
  readonly ws: WorkspaceId;
  readonly erasureId: ErasureId;
  room: number;
  links: number;
  changes: number;
}

/** A member that goes. */
interface Member {
  readonly uid: Uid;
  readonly tomb: Tomb;
  readonly key: IdentifierKey | null;
}

/** Takes at most about `max` of a sealed profile apart, behind the lock. Null if there is no such erasure. */
export async function takeApart(
  step: Step,
  tombOf: TombOf,
  ws: WorkspaceId,
  erasureId: ErasureId,
  max: number,
): Promise<Erasure | null> {
  const [row] = await step.run(FIND_ERASURE, { ws, id: erasureId });
  if (row === undefined) return null;
  const { erasure, strangers } = storedErasureOf(row);
  if (erasure.isGone) return erasure;
  const work: Work = { ws, erasureId, room: Math.max(max, 2), links: 0, changes: 0 };
  while (work.room > 0) {
    const members = await membersOf(step, tombOf, work);
    if (members.length === 0) break;
    await takeMembers(step, tombOf, work, members);
  }
  if (work.room > 0) await takeMentions(step, tombOf, work, strangers);
  const took = { links: whole(work.links), changes: whole(work.changes) };
  await step.run(TOOK, { ws, id: erasureId, ...took });
  if (work.room > 0) await step.run(END_ERASURE, { ws, id: erasureId });
  return firstErasureOf(await step.run(FIND_ERASURE, { ws, id: erasureId }));
}

async function membersOf(step: Step, tombOf: TombOf, { erasureId, room }: Work): Promise<readonly Member[]> {
  const max = whole(Math.min(room, MEMBERS_MAX));
  const rows = (await step.run(SEALED_MEMBERS, { id: erasureId, max })) as readonly (readonly [
    Uid,
    IdentifierKey | null,
  ])[];
  const nameless = rows.filter(([, key]) => key === null).map(([uid]) => uid);
  const tombs = new Map(
    nameless.length === 0
      ? []
      : ((await step.run(TOMBS_OF_UIDS, { uids: nameless })) as unknown as readonly (readonly [Uid, Tomb])[]),
  );
  return rows.map(([uid, key]) => ({ uid, key, tomb: key === null ? tombs.get(uid)! : tombOf(key) }));
}

async function takeMembers(step: Step, tombOf: TombOf, work: Work, members: readonly Member[]): Promise<void> {
  const uids = members.map(({ uid }) => uid);
  const [row] = await step.run(TAKE_LINKS, { uids, max: whole(work.room) });
  const links = (row?.[0] ?? 0) as number;
  work.links += links;
  work.room -= links;
  if (work.room <= 0) return;
  const tombs = members.map(({ tomb }) => tomb);
  await takeRecords(step, tombOf, work, await step.run(TAKE_RECORDS, { uids, max: whole(work.room) }), tombs);
  if (work.room <= 0) return;
  await takeMentions(step, tombOf, work, tombs);
  if (work.room <= 0) return;
  const buried = members.map(({ tomb, uid }) => ({ tomb, uid }));
  await step.run(BURY, { ws: work.ws, id: work.erasureId, buried });
  await step.run(TAKE_MEMBERS, { uids });
  work.room -= members.length;
}

async function takeMentions(step: Step, tombOf: TombOf, work: Work, tombs: readonly Tomb[]): Promise<void> {
  if (tombs.length === 0) return;
  await takeRecords(step, tombOf, work, await step.run(TAKE_MENTIONS, { tombs, max: whole(work.room) }), tombs);
  if (work.room > 0) await step.run(DROP_MENTIONS, { tombs });
}

type RecordRow = readonly [id: ChangeId, identifiers: readonly string[], dropped: readonly string[] | null];

/** Rewrites records without these names. */
async function takeRecords(
  step: Step,
  tombOf: TombOf,
  work: Work,
  rows: readonly Row[],
  tombs: readonly Tomb[],
): Promise<void> {
  work.room -= rows.length;
  const isGone = new Set(tombs);
  // One record may be about several of them.
  const records = new Map((rows as unknown as readonly RecordRow[]).map((row) => [row[0], row]));
  const rewritten = [...records.values()].flatMap(([id, identifiers, dropped]) => {
    const names = namesInRecord(identifiers, dropped);
    const without = withoutErased(names, (one) => isGone.has(tombOf(identifierKey(work.ws, one))));
    if (without === names) return [];
    if (names.identifiers.every(isNamed)) work.changes += 1;
    return Object.assign(recordOfNames(without), { id });
  });
  if (rewritten.length > 0) await step.run(REWRITE_RECORDS, { records: rewritten });
}
