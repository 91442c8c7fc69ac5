import { identifierKey } from "../../../core/event/event.js";
import type { Copying } from "../../../core/ports/copying.js";
import { createSqliteGraphCopying } from "../../../graph/sqlite/copy/copy.js";
import { createSqliteGraph } from "../../../graph/sqlite/graph.js";
import { checkPrograms } from "../trust/programs.js";
import { erase, finish } from "../identity/erasures.js";
import { anAssertion, anIdentifier, aWorkspace, openGraphDatabase, step } from "../identity/fixtures.js";
import { aChange, record, write } from "../identity/plans.js";
import { temporaryFolder } from "../backends.js";
import { tombOf } from "../builders.js";

/** All rows of all kinds; those of a kind in no order. */
export type Dumped<Rows> = { readonly [K in keyof Rows]: readonly Rows[K][] };

/** Pages of a size that divides nothing. */
const PAGE = 7;

export async function dumpAll<Rows>(copying: Copying<Rows>, limit = PAGE): Promise<Dumped<Rows>> {
  const all: Partial<Record<keyof Rows, unknown>> = {};
  for (const kind of copying.kinds) all[kind] = await dumpKind(copying, kind, limit);
  return all as Dumped<Rows>;
}

async function dumpKind<Rows, K extends keyof Rows>(
  copying: Copying<Rows>,
  kind: K,
  limit: number,
): Promise<readonly Rows[K][]> {
  const rows: Rows[K][] = [];
  for (let after: string | null = null; ;) {
    const page: Awaited<ReturnType<typeof copying.dump<K>>> = await copying.dump(kind, { limit, after });
    rows.push(...page.rows);
    if (page.next === null) return rows;
    after = page.next;
  }
}

/** The kinds whose dump answered before the event loop had turned. */
export async function dumpedInOneTurn<Rows>(copying: Copying<Rows>): Promise<readonly string[]> {
  const kinds: string[] = [];
  for (const kind of copying.kinds) {
    let hasTurned = false;
    setImmediate(() => (hasTurned = true));
    await copying.dump(kind, { limit: PAGE, after: null });
    if (!hasTurned) kinds.push(kind);
  }
  return kinds;
}

export async function loadAll<Rows>(copying: Copying<Rows>, all: Dumped<Rows>): Promise<void> {
  for (const kind of copying.kinds) await copying.load(kind, all[kind]);
}

/** Two stores have the same rows if this answers the same, in whatever order they have them. */
export const sorted = <Rows>(all: Dumped<Rows>): Readonly<Record<string, readonly string[]>> =>
  Object.fromEntries(
    Object.entries<readonly unknown[]>(all).map(([kind, rows]) => [
      kind,
      rows.map((row) => JSON.stringify(row)).toSorted(),
    ]),
  );

/** What random programs leave in a graph: merges, splits, removed links, forbidden pairs, marks; and an erasure. */
export async function aRandomGraph(programs: number) {
  const folder = await temporaryFolder();
  const database = openGraphDatabase(`${folder}/onym.db`);
  const port = createSqliteGraph({ database, tombOf });
  await checkPrograms(port, programs);
  const workspace = aWorkspace();
  await port.watch(workspace);
  await step(port, workspace, anAssertion("ann", "bob"), anAssertion("cat"));
  await record(port, workspace, aChange({ identifiers: [anIdentifier("ann"), anIdentifier("never seen")] }));
  await finish(port, await erase(port, workspace, anIdentifier("bob")));
  await step(port, workspace, anAssertion("ann", "cat"));
  const unlinks = [aChange(), aChange(), aChange()];
  const key = identifierKey(workspace, anIdentifier("cat"));
  await write(port, workspace, [anIdentifier("cat")], () => ({
    changes: unlinks,
    unlinked: unlinks.map(({ changeId, at }, n) => ({ key, at: at + n, changeId })),
  }));
  return { port, copying: createSqliteGraphCopying({ database }), close: () => database.close() };
}
