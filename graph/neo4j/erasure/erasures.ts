import { newId, type ErasureId, type Tomb, type Uid, type WorkspaceId } from "../../../core/ids.js";
import {
  broughtInLine,
  type Erasure,
  type ErasureRequest,
  type ErasureResult,
} from "../../../core/identity/erasure.js";
import type { TombOf } from "../../../core/identity/tombstone.js";
import type { Erasures } from "../../../core/ports/identity-graph.js";
import { newestOf, ofAnotherWorkspace, previewOf, repeated, revisionOf } from "../../rules/erasing.js";
import { type Client, type Parameters, type Step, inLock, inWrite, whole } from "../client.js";
import {
  ADVANCE_ERASURE,
  BURY,
  COUNT_LATE,
  ERASURES,
  FIND_ERASURE,
  FIND_ERASURES,
  LAST_ERASED,
  OPEN_ERASURES,
  OPEN_FOR_STRANGERS,
  READMIT,
  RENEW,
  WRITE_ERASURE,
} from "../cypher/erasure.js";
import { BURIED, FOREIGN_UIDS, LIVING_UIDS } from "../cypher/tombstones.js";
import { withOneRetry, withRetries } from "../failure.js";
import { NEWEST } from "../pages/pages.js";
import { erasureOf, erasureParameters, firstErasureOf, wholeOrNull } from "./rows.js";
import { findTarget, seal } from "./seal.js";
import { takeApart } from "./take-apart.js";
import { hasErasures, readTombstones, strangersOf } from "./tombstones.js";

/** So much is taken apart in the step that seals; a profile of more links goes on afterwards. */
const AT_ONCE = 500;
/** Below the time that a caller of `Identity` waits. */
const WRITE_MS = 7_500;

export function createErasures(client: Client, tombOf: TombOf): Erasures {
  const ask = (statement: string, q: Parameters) => withOneRetry(() => client.read(statement, q));
  const write = <T>(ws: WorkspaceId, work: (step: Step) => Promise<T>): Promise<T> => {
    const due = performance.now() + WRITE_MS;
    return withRetries(() => inWrite(client, ws, work), { awayMax: 4, isOver: () => performance.now() > due });
  };
  return {
    previewErasure: (ws, target) =>
      inLock(client, ws, async (step) => previewOf(await findTarget(step.run, tombOf, ws, target))),
    erase: (ws, request) => {
      // Of all tries: the answer of one that was written may be lost.
      const erasureId = newId<ErasureId>();
      return write(ws, (step) => erase(step, tombOf, ws, request, erasureId));
    },
    continueErasure: (ws, erasureId, max) => write(ws, (step) => takeApart(step, tombOf, ws, erasureId, max)),
    findErasure: async (ws, id) => firstErasureOf(await ask(FIND_ERASURE, { ws, id })),
    findErasures: async (ws, ids) => (await ask(FIND_ERASURES, { ws, ids })).map(erasureOf),
    erasures: async (ws, { limit, before }) =>
      (await ask(ERASURES, { ws, limit: whole(limit), before: before ?? NEWEST })).map(erasureOf),
    openErasures: async (asked) => (await ask(OPEN_ERASURES, page(asked))).map(erasureOf),
    advanceErasure: (ws, id, rev, { removed, cursor, completedAt }) =>
      write(ws, async (step) =>
        firstErasureOf(
          await step.run(ADVANCE_ERASURE, {
            ws,
            id,
            rev: whole(rev),
            removed: JSON.stringify(removed),
            cursor,
            completed_at: wholeOrNull(completedAt),
          }),
        ),
      ),
    countLate: (ws, id, events, at) => {
      const q = { ws, id, call: newId(), events: whole(events), at: whole(at) };
      return write(ws, async (step) => void (await step.run(COUNT_LATE, q)));
    },
    readmit: (ws, id, at) =>
      write(ws, async (step) => firstErasureOf(await step.run(READMIT, { ws, id, at: whole(at) }))),
    hasErasures: (ws) => hasErasures(ask, ws),
    lastErasedAt: async (ws) => ((await ask(LAST_ERASED, { ws }))[0]?.[0] as number | undefined) ?? 0,
    tombstones: (ws, keys) => readTombstones(ask, tombOf, ws, keys),
    livingUids: async (ws, uids) => new Set((await ask(LIVING_UIDS, { ws, uids })).map(([uid]) => uid as Uid)),
    foreignUids: async (ws, uids) => new Set((await ask(FOREIGN_UIDS, { ws, uids })).map(([uid]) => uid as Uid)),
    buried: async (ws, id, asked) => {
      const rows = await ask(BURIED, { ws, id, ...page(asked) });
      return (rows as readonly (readonly [Tomb, Uid | null])[]).map(([tomb, uid]) => ({ tomb, uid }));
    },
    restoreErasure: (ws, erasure, buried) =>
      write(ws, async (step) => {
        await step.run(WRITE_ERASURE, erasureParameters({ ...erasure, workspace: ws }, []));
        const standing = firstErasureOf(await step.run(FIND_ERASURE, { ws, id: erasure.erasureId }));
        if (standing === null) throw ofAnotherWorkspace(erasure);
        const renewal = broughtInLine(standing, erasure);
        if (renewal !== null) await renew(step, renewal);
        const tombs = buried.map(({ tomb }) => tomb);
        const strangers = await strangersOf(step.run, tombOf, ws, tombs);
        if (strangers.length > 0) await step.run(OPEN_FOR_STRANGERS, { ws, id: erasure.erasureId, strangers });
        await step.run(BURY, { ws, id: erasure.erasureId, buried });
      }),
  };
}

/** As a later request leaves it. */
async function renew(step: Step, { workspace: ws, erasureId: id, suppress, ...erasure }: Erasure): Promise<void> {
  await step.run(RENEW, {
    ws,
    id,
    suppress,
    erased_at: whole(erasure.erasedAt),
    readmitted_at: wholeOrNull(erasure.readmittedAt),
    completed_at: wholeOrNull(erasure.completedAt),
    rev: whole(erasure.rev),
  });
}

const page = ({ limit, after }: { readonly limit: number; readonly after: string | null }) => ({
  limit: whole(limit),
  after: after ?? "",
});

async function erase(
  step: Step,
  tombOf: TombOf,
  ws: WorkspaceId,
  request: ErasureRequest,
  erasureId: ErasureId,
): Promise<ErasureResult> {
  const written = firstErasureOf(await step.run(FIND_ERASURE, { ws, id: erasureId }));
  if (written !== null) return { kind: "erased", erasure: written };
  const found = await findTarget(step.run, tombOf, ws, request.target);
  if (found.kind === "unknown" || found.kind === "several") return found;
  if (found.kind === "dead") {
    const changed = repeated(found, request);
    for (const one of changed) await renew(step, one);
    const { erasureId: id } = newestOf(found);
    return { kind: "repeated", erasure: firstErasureOf(await step.run(FIND_ERASURE, { ws, id }))!, changed };
  }
  if (request.revision !== null && request.revision !== revisionOf(found)) return { kind: "changed" };
  await seal(step, tombOf, ws, request, erasureId, found);
  return { kind: "erased", erasure: (await takeApart(step, tombOf, ws, erasureId, AT_ONCE))! };
}
