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
  const code = codeOf(error);
  return FAILURES.find(([prefix]) => code?.startsWith(prefix))?.[1] ?? null;
}

const codeOf = (error: unknown): string | null =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : null;

/** Another connection holds the file. */
export const isBusy = (error: unknown): boolean => codeOf(error)?.startsWith("SQLITE_BUSY") ?? false;
