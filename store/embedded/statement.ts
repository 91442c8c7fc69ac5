import type Libsql from "libsql";
import type { Statement } from "../../core/database.js";
import { AppError } from "../../core/errors.js";
import { failureOf } from "./failure.js";

/**
 * What SQLite finds damaged is told with the kind of row, and nothing else. The driver would go on to answer the same error to every
 * later call of the statement, so that one is made anew.
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
  let statement = make();
  const failed = (error: unknown): unknown => {
    if (failureOf(error) !== "damaged") return error;
    statement = make();
    const kind = KIND.exec(sql)?.[1] ?? "the schema";
    onError(`the embedded store is damaged: ${kind}`, error);
    return new AppError("damaged", `A stored record is damaged: ${kind}.`, { cause: error });
  };
  return {
    run: (parameters) => {
      try {
        return statement.run(parameters);
      } catch (error) {
        throw failed(error);
      }
    },
    get: (parameters) => {
      try {
        return statement.get(parameters);
      } catch (error) {
        throw failed(error);
      }
    },
    all: (parameters) => {
      try {
        return statement.all(parameters);
      } catch (error) {
        throw failed(error);
      }
    },
  };
}
/** The first table of a statement. */
const KIND = /\b(?:FROM|JOIN|INTO|UPDATE)\s+([a-z_]+)/;
