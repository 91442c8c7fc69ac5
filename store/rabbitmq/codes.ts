/** Of an error of the library, as the broker or the system gave it. */
export const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
export const isMissing = (error: unknown): boolean => codeOf(error) === "NOT_FOUND";
