import type Libsql from "libsql";

/** Sets a pragma and reads it back: SQLite passes over a value that it does not take without a word. Throws when it reads `as` otherwise. */
export function setPragma(db: Libsql.Database, name: string, value: string | number, as: string | number): void {
  db.pragma(`${name} = ${value}`);
  const rows = db.pragma(name) as readonly Record<string, unknown>[];
  if (rows[0]?.[name] !== as) throw new Error(`SQLite did not take ${name} = ${value}`);
}
