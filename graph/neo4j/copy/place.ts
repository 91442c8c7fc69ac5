import type { MoveMark, Place } from "../../../core/ports/copying.js";
import type { Client } from "../client.js";
import { COUNT_ALL, MARK, SET_MARK, UNMARK } from "../cypher/copy.js";
import { withOneRetry } from "../failure.js";

/** The database. */
export const createNeo4jPlace = (client: Client, name: string): Place => ({
  name,
  mark: async () => {
    const [row] = await withOneRetry(() => client.read(MARK, {}));
    return row === undefined ? null : (JSON.parse(row[0] as string) as MoveMark);
  },
  setMark: async (mark) => {
    const [statement, q] = mark === null ? [UNMARK, {}] : [SET_MARK, { mark: JSON.stringify(mark) }];
    await withOneRetry(() => client.write(statement, q));
  },
  stands: async () => {
    const rows = await withOneRetry(() => client.read(COUNT_ALL, {}));
    return new Map(rows as readonly (readonly [string, number])[]);
  },
});
