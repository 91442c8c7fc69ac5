import type { ProfileId, WorkspaceId } from "../../core/ids.js";
import type { Copied, Copying, MemberCopying, SeatRow } from "../../core/ports/copying.js";
import type { Backends } from "../backends.js";

const ROWS_PER_PAGE = 500;
/** Servers answer each question after its way there and back. */
const ROWS_AT_ONCE = 16;

export async function* pagesOf<Rows, K extends keyof Rows>(
  copying: Copying<Rows>,
  kind: K,
): AsyncGenerator<readonly Rows[K][]> {
  for (let after: string | null = null; ;) {
    const page: Copied<Rows[K]> = await copying.dump(kind, { limit: ROWS_PER_PAGE, after });
    yield page.rows;
    if (page.next === null) return;
    after = page.next;
  }
}

/** Of one workspace, by profile id: those of all others would be read anew for each. */
export async function* seatPages(
  copying: MemberCopying,
  workspace: WorkspaceId,
  behind: ProfileId | null = null,
): AsyncGenerator<readonly SeatRow[]> {
  for (let after = behind; ;) {
    const page: readonly SeatRow[] = await copying.seatsOf(workspace, { limit: ROWS_PER_PAGE, after });
    yield page;
    if (page.length < ROWS_PER_PAGE) return;
    after = page.at(-1)!.profileId;
  }
}

async function* rowsOf<Rows, K extends keyof Rows>(copying: Copying<Rows>, kind: K): AsyncGenerator<Rows[K]> {
  for await (const page of pagesOf(copying, kind)) yield* page;
}

/** Works on all rows of the kind, some of them at once, in no order. */
export async function forEachRow<Rows, K extends keyof Rows>(
  copying: Copying<Rows>,
  kind: K,
  work: (row: Rows[K]) => Promise<void>,
): Promise<void> {
  const rows = rowsOf(copying, kind);
  const workInTurns = async (): Promise<void> => {
    try {
      for (let next = await rows.next(); next.done !== true; next = await rows.next()) await work(next.value);
    } catch (error) {
      // The others end with the rows that they are at.
      await rows.return(undefined);
      throw error;
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: ROWS_AT_ONCE }, workInTurns));
  const failed = ends.find((end) => end.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}

/** One after the other. */
export async function forEachWorkspace(
  { catalog }: Pick<Backends, "catalog">,
  work: (workspace: WorkspaceId) => Promise<void>,
): Promise<void> {
  for (let after: WorkspaceId | null = null; ;) {
    const page: readonly { readonly workspaceId: WorkspaceId }[] = await catalog.workspaces({
      limit: ROWS_PER_PAGE,
      after,
    });
    for (const { workspaceId } of page) await work(workspaceId);
    if (page.length < ROWS_PER_PAGE) return;
    after = page.at(-1)!.workspaceId;
  }
}
