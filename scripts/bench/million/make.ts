import { openBackends, type Backends } from "../../../app/backends.js";
import { createLifecycle } from "../../../app/lifecycle.js";
import { silentLog } from "../../../app/logger.js";
import { readConfig } from "../../../core/config.js";
import type { WorkspaceId } from "../../../core/ids.js";
import type { Copied, Copying, EventRow } from "../../../core/ports/copying.js";
import { andThen } from "../../shared/async.js";
import type { Settings } from "../../shared/grounds.js";
import { renameEvent, renameRow, repeatEvent } from "./copies.js";
import { BUSY, userOf } from "./people.js";

const PAGE = 5_000;
const SECOND_MS = 1_000;
const TOLD_EVERY = 100;

export interface More {
  readonly workspace: WorkspaceId;
  /** Of each person that stands. */
  readonly copies: number;
  /** Of the busy one. */
  readonly busyEvents: number;
}

/**
 * Makes the people that a service folded into as many more: what it stored of them is loaded again under other names and ids, through the
 * ports that move a store. The service is stopped meanwhile. Minutes instead of hours.
 */
export async function multiply(settings: Settings, more: More, tell: (line: string) => void): Promise<void> {
  const lifecycle = createLifecycle(silentLog);
  const run = async (): Promise<void> => {
    const backends = await openBackends(readConfig({ PORT: "0", ...settings }), silentLog, lifecycle);
    const events = await dumpAll(backends.copying.documents, "events");
    await addCopies(backends, events, more, tell);
    await addBusyEvents(backends, events, more);
  };
  await andThen(run, () => lifecycle.close());
}

async function addCopies(
  { copying: { graph, documents } }: Backends,
  events: readonly EventRow[],
  { workspace, copies }: More,
  tell: (line: string) => void,
): Promise<void> {
  const graphLoads = await Promise.all(graph.kinds.map((kind) => loadOf(graph, kind)));
  const loadFacets = await loadOf(documents, "facets");
  const times = events.map(({ receivedAt }) => receivedAt);
  const span = Math.max(...times) - Math.min(...times) + SECOND_MS;
  for (let copy = 1; copy <= copies; copy += 1) {
    // All of them came before those that stand: an id is never of the future.
    const renaming = { workspace, copy, shift: (copy - copies - 1) * span };
    for (const load of [...graphLoads, loadFacets]) await load((row) => renameRow(row, renaming));
    await documents.load(
      "events",
      events.map((row) => renameEvent(row, renaming)),
    );
    if (copy % TOLD_EVERY === 0) tell(`${copy} of ${copies} copies`);
  }
}

/** Loads what stands of the kind once more, each time changed in another way. */
async function loadOf<Rows, K extends keyof Rows>(copying: Copying<Rows>, kind: K) {
  const rows = await dumpAll(copying, kind);
  return (change: <Row>(row: Row) => Row): Promise<void> => copying.load(kind, rows.map(change));
}

async function dumpAll<Rows, K extends keyof Rows>(copying: Copying<Rows>, kind: K): Promise<readonly Rows[K][]> {
  const all: Rows[K][] = [];
  for (let after: string | null = null; ;) {
    const { rows, next }: Copied<Rows[K]> = await copying.dump(kind, { limit: PAGE, after });
    all.push(...rows);
    if (next === null) return all;
    after = next;
  }
}

/** Gives the busy one as many events as it shall have, each like its last one, and counts them in its facet. */
async function addBusyEvents(
  { copying, profiles }: Backends,
  events: readonly EventRow[],
  { workspace, busyEvents }: More,
): Promise<void> {
  const last = events.findLast(({ message }) => message.includes(`"${userOf(BUSY)}"`))!;
  for (let made = 0; made < busyEvents; made += PAGE) {
    const count = Math.min(PAGE, busyEvents - made);
    await copying.documents.load(
      "events",
      Array.from({ length: count }, (_, n) => repeatEvent(last, made + n)),
    );
  }
  const uid = last.fold!.facet;
  const { facet, pending, rev } = (await profiles.find(workspace, [uid])).get(uid)!;
  const counted = { ...facet, eventCount: facet.eventCount + busyEvents };
  const [isSaved] = await profiles.save(workspace, [{ uid, facet: counted, pending, expectedRev: rev }]);
  if (!isSaved) throw new Error("The facet of the busy one was saved by somebody else.");
}
