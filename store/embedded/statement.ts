import type Libsql from "libsql";
import type { Statement } from "../../core/database.js";
import { AppError } from "../../core/errors.js";
import { failureOf } from "./failure.js";

/**
 * What SQLite finds damaged is told with the kind of row, and nothing else. The driver would go on to answer the same error to every
 * later call of the statement, so that one is made anew. And after `all` its `get` would answer by the parameters of that call: so each
 * of the two has a statement of its own. Compiled at its first call: most calls of most processes need few of them.
 */
export function prepareStatement(
  db: Libsql.Database,
  sql: string,
  onError: (message: string, error: unknown) => void,
): Statement {
  const make = (): Statement => {
    const made = db.prepare(sql);
    return (made.reader ? made.raw() : made) as unknown as Statement;
  };
  let single: Statement | null = null;
  let many: Statement | null = null;
  const failed = (error: unknown): unknown => {
    if (failureOf(error) !== "damaged") return error;
    single = many = null;
    const kind = KIND.exec(sql)?.[1] ?? "the schema";
    onError(`the embedded store is damaged: ${kind}`, error);
    return new AppError("damaged", `A stored record is damaged: ${kind}.`, { cause: error });
  };
  return {
    run: (parameters) => {
      try {
        return (many ??= make()).run(parameters);
      } catch (error) {
        throw failed(error);
      }
    },
    get: (parameters) => {
      try {
        return (single ??= make()).get(parameters);
      } catch (error) {
        throw failed(error);
      }
    },
    all: (parameters) => {
      try {
        return (many ??= make()).all(parameters);
      } catch (error) {
        throw failed(error);
      }
    },
  };
}
/** The first table of a statement. */
const KIND = /\b(?:FROM|JOIN|INTO|UPDATE)\s+(?!json_each\b)([a-z_]+)/;
