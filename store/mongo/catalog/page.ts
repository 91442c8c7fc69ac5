import type { Page } from "../../../core/ports/port.js";

/** The part of a section that a page shows, by id. */
export function pageOf<Row, Id extends string>(
  rows: readonly Row[],
  idOf: (row: Row) => Id,
  { limit, after }: Page<Id>,
): readonly Row[] {
  const later = rows.filter((row) => after === null || idOf(row) > after);
  return later.toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : 1)).slice(0, limit);
}
