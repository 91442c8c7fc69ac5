import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { WorkspaceId } from "../../../../core/ids.js";
import type { Bench } from "../bench.js";
import { nowOf } from "../truth.js";

const PATIENCE_MS = 180_000;
const PAUSE_MS = 10;
const ALL = 10_000;

/** Waits until seats and feed are what the rules say: no mark, no moved note, no seat that is due, and nothing of those in hand. */
export async function untilAtRest(bench: Bench): Promise<void> {
  for (const end = performance.now() + PATIENCE_MS; ;) {
    const open = await openIn(bench);
    if (open === null) return;
    assert.ok(performance.now() < end, `audiences do not come to rest: there are ${open}`);
    await sleep(PAUSE_MS);
  }
}

/** In the order in which one leads to the next, so nothing slips from one to the other unseen. */
async function openIn({ place, workspace: { id }, truth }: Bench): Promise<string | null> {
  const workspace = id as WorkspaceId;
  const { audiences, graph, marks, seats } = place.app.service.backends;
  if ((place.underway.batches.get(id) ?? 0) > 0) return "batches";
  const set = await audiences.audiences(workspace);
  if (set.audiences.some(({ build }) => build !== null)) return "builds";
  if ((await graph.moved(workspace, 1)).length > 0) return "moved profiles";
  if ((await marks.marks(ALL)).some((mark) => mark.workspace === workspace)) return "marks";
  if (set.deleted.length > 0) return "deleted audiences";
  if ((await seats.due(workspace, nowOf(truth), { limit: 1, after: null })).length > 0) return "seats that are due";
  if ((await seats.claimed(workspace, { limit: 1, after: null })).length > 0) return "claims";
  return place.underway.saves.has(id) ? "saves" : null;
}
