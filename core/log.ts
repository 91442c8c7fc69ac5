/** Fields never hold payloads, identifier values, keys or headers: only ids of ours, codes, counts and durations. */
export interface Log {
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
}

/** What the log may say of an error: its kind and place, but not its text, which can quote data. */
export const describeError = (error: unknown): Readonly<Record<string, unknown>> => {
  if (!(error instanceof Error)) return { error: typeof error };
  const code = "code" in error && typeof error.code === "string" ? error.code : undefined;
  // The stack begins with the error's text, whose lines may look like stack frames.
  const place = error.stack
    ?.replace(error.message, "")
    .split("\n")
    .filter((line) => line.startsWith("    at "))
    .slice(0, 4)
    .map((line) => line.trim());
  const cause = error.cause === undefined ? undefined : describeError(error.cause);
  return { error: error.name, code, place, cause };
};
