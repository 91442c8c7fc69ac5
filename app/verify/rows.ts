import type { Copied, Copying } from "../../core/ports/copying.js";

const ROWS_PER_PAGE = 500;

/** All rows of the kind. */
export async function* rowsOf<Rows, K extends keyof Rows>(copying: Copying<Rows>, kind: K): AsyncGenerator<Rows[K]> {
  for (let after: string | null = null; ;) {
    const page: Copied<Rows[K]> = await copying.dump(kind, { limit: ROWS_PER_PAGE, after });
    yield* page.rows;
    if (page.next === null) return;
    after = page.next;
  }
}
