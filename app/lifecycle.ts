import type { Log } from "../core/log.js";
import { describeError } from "../core/log.js";

/** What was opened is closed in reverse, also when the start fails halfway. */
export interface Lifecycle {
  /** Registers how to close what was just opened. */
  opened(name: string, close: () => Promise<void>): void;
  /** Closes everything once; a part that fails to close does not keep the others open. */
  close(): Promise<void>;
}

export function createLifecycle(log: Log): Lifecycle {
  const parts: { readonly name: string; readonly close: () => Promise<void> }[] = [];
  let closing: Promise<void> | null = null;
  const closeAll = async (): Promise<void> => {
    for (const { name, close } of parts.toReversed())
      await close().catch((error: unknown) => log.error({ part: name, cause: describeError(error) }, "close failed"));
  };
  return {
    opened: (name, close) => void parts.push({ name, close }),
    close: () => (closing ??= closeAll()),
  };
}
