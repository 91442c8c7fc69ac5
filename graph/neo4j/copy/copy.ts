import { AppError } from "../../../core/errors.js";
import {
  GRAPH_KINDS,
  type Copied,
  type CopyPage,
  type GraphRows,
  type GraphCopying,
} from "../../../core/ports/copying.js";
import type { Client, Parameters, Row } from "../client.js";
import { inWrite, whole } from "../client.js";
import { MEND_PROFILE } from "../cypher/copy.js";
import { withOneRetry, withOneRetryLocked } from "../failure.js";
import { loadsOf } from "./loads.js";
import { DUMPS } from "./rows.js";

/** So much one statement writes; the rest follows in others. */
const ROWS_PER_STEP = 1_000;
/** Of one page, while rows of it are deleted. */
const READS = 5;
/** A change may be about a thousand identifiers. */
const CHANGES_OF_SUBJECTS = 100;

/** Copies nodes and relationships. Each row is written once, so a load may be repeated. */
export function createNeo4jCopying(client: Client): GraphCopying {
  const write = (statement: string, q: Parameters, rows: number): Promise<void> =>
    withOneRetryLocked(() =>
      inWrite(client, null, async (step) => {
        const [found] = await step.run(statement, q);
        if (found?.[0] !== rows) throw new AppError("conflict", "A row names what was not loaded.");
      }),
    );
  return {
    kinds: GRAPH_KINDS,
    dump: async <K extends keyof GraphRows>(kind: K, { limit, after }: CopyPage): Promise<Copied<GraphRows[K]>> => {
      const { statement, filled, read } = DUMPS[kind];
      const most = kind === "subjects" ? Math.min(limit, CHANGES_OF_SUBJECTS) : limit;
      const ask = () => withOneRetry(() => client.read(statement, { after: after ?? "", limit: most }));
      return pageOf(await untilWhole(ask, filled), most, read);
    },
    // Without the lock it would compare the rev before it waits for who changes the profile, and then write over it.
    mend: ({ workspace, profileId, size, rev, counts, forbidden }) =>
      withOneRetryLocked(() =>
        inWrite(client, workspace, async (step) => {
          const q = {
            id: profileId,
            size: whole(size),
            rev: whole(rev),
            counts: JSON.stringify(Object.fromEntries(counts)),
            forbidden: forbidden.length === 0 ? null : forbidden,
          };
          const [found] = await step.run(MEND_PROFILE, q);
          return found?.[0] === 1;
        }),
      ),
    load: async (kind, rows) => {
      for (let next = 0; next < rows.length; next += ROWS_PER_STEP)
        for (const { statement, q, count } of await loadsOf(client, kind, rows.slice(next, next + ROWS_PER_STEP)))
          await write(statement, q, count);
    },
  };
}

/**
 * A row that is deleted while it is read still has its place, which is the index's, and nothing in its other columns. Read again it is not
 * there; one that stays as it is has been damaged, and its reader fails.
 */
async function untilWhole(ask: () => Promise<readonly Row[]>, filled: number): Promise<readonly Row[]> {
  const isHalf = (row: Row) => row.slice(0, filled).some((column) => column === null || isLacking(column));
  for (let n = 1; ; n++) {
    const found = await ask();
    if (n === READS || !found.some(isHalf)) return found;
  }
}

const isLacking = (column: unknown): boolean => Array.isArray(column) && column.includes(null);

const pageOf = <R>(found: readonly Row[], limit: number, read: (row: Row) => readonly R[]): Copied<R> => ({
  rows: found.flatMap(read),
  next: found.length < limit ? null : (found.at(-1)![0] as string),
});
