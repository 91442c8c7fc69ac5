import { ApiError, AwayError } from "../client/client.js";

export const EXIT = {
  done: 0,
  /** Refused, not found, or something is wrong: the text says what. */
  refused: 1,
  /** The command itself is wrong. */
  usage: 2,
  /** The service does not answer, or asks to come back later. */
  unavailable: 3,
  /** There is no key, or it may not do this. */
  key: 4,
} as const;
export type Exit = (typeof EXIT)[keyof typeof EXIT];

/** One line for whoever typed the command. */
export class CliError extends Error {
  readonly exit: Exit;
  constructor(exit: Exit, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "CliError";
    this.exit = exit;
  }
}

export const usage = (message: string): CliError => new CliError(EXIT.usage, message);

/** What to print, and the exit code. An error of another kind is a bug and is thrown again. */
export function failureOf(error: unknown, url: string): { readonly message: string; readonly exit: Exit } {
  if (error instanceof CliError) return error;
  if (error instanceof ApiError) return { message: describeRefusal(error), exit: exitOf(error.problem.status) };
  if (error instanceof AwayError) return { message: `${url} ${error.what}`, exit: EXIT.unavailable };
  const { code, message } = error as NodeJS.ErrnoException;
  if (error instanceof TypeError && code?.startsWith("ERR_PARSE_ARGS") === true)
    return { message: message.split(". ")[0]!, exit: EXIT.usage };
  if (error instanceof Error && "syscall" in error) return { message, exit: EXIT.refused };
  throw error;
}

/** The detail names the first problem; the others follow. */
function describeRefusal({ problem: { status, code, detail, errors = [] } }: ApiError): string {
  const others = errors
    .map(({ path, message }) => `${path}: ${message}`)
    .filter((one) => !detail.startsWith(one))
    .slice(0, SHOWN_MAX);
  return [`${status} ${code}: ${detail}`, ...others].join("; ");
}
const SHOWN_MAX = 5;

function exitOf(status: number): Exit {
  if (status === 401 || status === 403) return EXIT.key;
  return status === 429 || status >= 500 ? EXIT.unavailable : EXIT.refused;
}
