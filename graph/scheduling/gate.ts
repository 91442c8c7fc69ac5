import { AppError } from "../../core/errors.js";

/** Lets running calls end before the connections close, and lets no new ones in. */
export function createGate(end: () => Promise<void>) {
  let closing: Promise<void> | null = null;
  let underWay = 0;
  let onIdle: (() => void) | null = null;

  const whileOpen = async <T>(work: () => Promise<T>): Promise<T> => {
    if (closing !== null) throw new AppError("unavailable", "The identity graph is closed.");
    underWay += 1;
    try {
      return await work();
    } finally {
      underWay -= 1;
      if (underWay === 0) onIdle?.();
    }
  };
  const idle = (): Promise<void> => (underWay === 0 ? Promise.resolve() : new Promise((resolve) => (onIdle = resolve)));
  return { whileOpen, close: () => (closing ??= idle().then(end)) };
}
