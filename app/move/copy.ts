import { ConfigError } from "../../core/config.js";
import type { Erasure } from "../../core/identity/erasure.js";
import { toLogText } from "../../core/identity/logged-erasure.js";
import { publishAll } from "../../commands/audiences/publish.js";
import type { ErasureId, WorkspaceId } from "../../core/ids.js";
import type { Copying } from "../../core/ports/copying.js";
import { CATALOG_KINDS, catalogRows, loadCatalogRow } from "../../store/catalog-copying.js";
import { createSumming, type Sum } from "./checksum.js";
import { patiently, patientPort } from "./patience.js";
import { erasureLogName, nameOf, type Side } from "./side.js";

/** Of one kind of rows, on both sides. */
export interface Tally {
  readonly kind: string;
  readonly from: Sum;
  readonly to: Sum;
}

/** Told after each portion. */
export type Progress = (what: string, rows: number) => void;

const ROWS_PER_PAGE = 500;

/** One kind: how it is read on each side, and written. */
interface Flow {
  readonly kind: string;
  readonly copying: (progress: (rows: number) => void) => Promise<Sum>;
  readonly reading: (progress: (rows: number) => void) => Promise<Sum>;
  readonly comparing: (progress: (rows: number) => void) => Promise<Sum>;
}

/** Copies everything but the queue, then reads the copy again. What stands in the copy already stays. */
export async function copyStores(from: Side, to: Side, progress: Progress): Promise<readonly Tally[]> {
  await patiently(() => endErasures(from));
  await patiently(() => publishFeeds(from));
  return tally(from, to, "copying", progress);
}

/** Reads both sides, without the queue, and writes to neither. */
export const compareStores = (from: Side, to: Side, progress: Progress): Promise<readonly Tally[]> =>
  tally(from, to, "reading", progress);

async function tally(from: Side, to: Side, how: "copying" | "reading", progress: Progress): Promise<readonly Tally[]> {
  const flows = [
    ...catalogFlows(from, to),
    ...flowsOf(from.backends.copying.graph, to.backends.copying.graph),
    ...flowsOf(from.backends.copying.documents, to.backends.copying.documents),
    ...flowsOf(from.backends.copying.members, to.backends.copying.members),
  ];
  const sums: Sum[] = [];
  for (const flow of flows) sums.push(await flow[how]((rows) => progress(`${how} ${flow.kind}`, rows)));
  const tallies: Tally[] = [];
  for (const [n, { kind, comparing }] of flows.entries())
    tallies.push({ kind, from: sums[n]!, to: await comparing((rows) => progress(`comparing ${kind}`, rows)) });
  return tallies;
}

const ERASED_AT_ONCE = 1_000;

/** A profile that is half taken apart is no row of any kind. */
async function endErasures({ backends: { graph } }: Side): Promise<void> {
  for (let after: ErasureId | null = null; ;) {
    const found: readonly Erasure[] = await graph.openErasures({ limit: ROWS_PER_PAGE, after, isWhole: true });
    for (const { workspace, erasureId } of found)
      while ((await graph.continueErasure(workspace, erasureId, ERASED_AT_ONCE))?.isGone === false);
    const last = found.at(-1);
    if (last === undefined) return;
    after = last.erasureId;
  }
}

/** What was saved and is not in the feed yet is no row of any kind. */
async function publishFeeds({ backends }: Side): Promise<void> {
  for (let after: WorkspaceId | null = null; ;) {
    const found: readonly WorkspaceId[] = await backends.audiences.watching({ limit: ROWS_PER_PAGE, after });
    for (const workspace of found) await publishAll(backends, workspace);
    if (found.length < ROWS_PER_PAGE) return;
    after = found.at(-1)!;
  }
}

function catalogFlows({ backends: from }: Side, { backends: to }: Side): readonly Flow[] {
  return CATALOG_KINDS.map((kind) => {
    const each = async (one: typeof from, use: (row: never) => Promise<void>): Promise<Sum> => {
      const summing = createSumming();
      const [catalog, audiences] = [patientPort(one.catalog), patientPort(one.audiences)];
      const webhooks = patientPort(one.webhooks);
      for await (const row of catalogRows({ catalog, audiences, webhooks }, kind)) {
        summing.add(row);
        await patiently(() => use(row as never));
      }
      return summing.sum();
    };
    return {
      kind,
      copying: () => each(from, (row) => loadCatalogRow(to, kind, row)),
      reading: () => each(from, nothing),
      comparing: () => each(to, nothing),
    };
  });
}

function flowsOf<Rows>(from: Copying<Rows>, to: Copying<Rows>): readonly Flow[] {
  const pass = async <K extends keyof Rows & string>(
    source: Copying<Rows>,
    kind: K,
    use: (rows: readonly Rows[K][]) => Promise<void>,
    progress: (rows: number) => void,
  ): Promise<Sum> => {
    const summing = createSumming();
    for (let after: string | null = null, rows = 0; ;) {
      const place = { limit: ROWS_PER_PAGE, after };
      const page: Awaited<ReturnType<typeof source.dump<K>>> = await patiently(() => source.dump(kind, place));
      for (const row of page.rows) summing.add(row);
      await patiently(() => use(page.rows));
      rows += page.rows.length;
      progress(rows);
      if (page.next === null) return summing.sum();
      after = page.next;
    }
  };
  return from.kinds.map((kind) => ({
    kind,
    copying: (progress) => pass(from, kind, (rows) => to.load(kind, rows), progress),
    reading: (progress) => pass(from, kind, nothing, progress),
    comparing: (progress) => pass(to, kind, nothing, progress),
  }));
}

const nothing = async (): Promise<void> => undefined;

export const copyQueue = (from: Side, to: Side, progress: Progress): Promise<Tally> =>
  patiently(() => fillQueue(from, to, progress));

/** Fills the queue anew, whatever an earlier try left in it. */
async function fillQueue(from: Side, to: Side, progress: Progress): Promise<Tally> {
  await to.queue.clear();
  let rows = 0;
  for await (const portion of from.queue.messages()) {
    await to.queue.load(portion);
    rows += portion.length;
    progress("copying messages", rows);
  }
  return messagesTally(rows, to);
}

export async function compareQueue(from: Side, to: Side, progress: Progress): Promise<Tally> {
  let rows = 0;
  for await (const portion of from.queue.messages()) {
    rows += portion.length;
    progress("reading messages", rows);
  }
  return messagesTally(rows, to);
}

/** A broker tells how many messages it has; to read them would look like crashes. */
async function messagesTally(rows: number, to: Side): Promise<Tally> {
  const checksum = "";
  return { kind: "messages", from: { rows, checksum }, to: { rows: await counted(to, rows), checksum } };
}

const COUNT_TRIES = 20;
const AGAIN_MS = 250;

/** A broker counts a little later than it confirms. */
async function counted({ queue }: Side, expected: number): Promise<number> {
  let count = await queue.count();
  for (let tries = 1; count !== expected && tries < COUNT_TRIES; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    count = await queue.count();
  }
  return count;
}

/** Throws unless what stands in the log there is the beginning of the one here: a file beside the store outlives the store. */
export async function requireBeginning(from: Side, to: Side): Promise<void> {
  const entries = from.backends.erasureLog.entries()[Symbol.asyncIterator]();
  try {
    for await (const standing of to.backends.erasureLog.entries()) {
      const own = await entries.next();
      if (own.done !== true && toLogText(own.value) === toLogText(standing)) continue;
      throw new ConfigError(
        `${erasureLogName(to.config)} holds erasures of another installation than ${nameOf(from.config)}: move it away first`,
      );
    }
  } finally {
    await entries.return?.();
  }
}

/** What is kept of erasures beside the stores. In its order, and what stands there already is the beginning. */
export async function copyErasureLog({ backends: from }: Side, { backends: to }: Side): Promise<void> {
  let standing = 0;
  for await (const _ of to.erasureLog.entries()) standing += 1;
  for await (const entry of from.erasureLog.entries()) {
    standing -= 1;
    if (standing < 0) await to.erasureLog.append(entry);
  }
}
