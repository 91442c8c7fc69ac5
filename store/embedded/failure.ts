/** `full`: may work again later. `broken`: it is unknown what the disk holds. `damaged`: what the disk holds is wrong. */
export type Failure = "full" | "broken" | "damaged";

const FAILURES: readonly (readonly [prefix: string, failure: Failure])[] = [
  ["SQLITE_FULL", "full"],
  ["SQLITE_BUSY", "full"],
  ["SQLITE_NOMEM", "full"],
  ["SQLITE_IOERR", "broken"],
  ["SQLITE_READONLY", "broken"],
  ["SQLITE_CANTOPEN", "broken"],
  ["SQLITE_CORRUPT", "damaged"],
  ["SQLITE_NOTADB", "damaged"],
];

/** What an error says about the file; null when it is the caller's own (a broken constraint, a wrong statement). */
export function failureOf(error: unknown): Failure | null {
  if (typeof error !== "object" || error === null || !("code" in error)) return null;
  const { code } = error;
  if (typeof code !== "string") return null;
  return FAILURES.find(([prefix]) => code.startsWith(prefix))?.[1] ?? null;
}
