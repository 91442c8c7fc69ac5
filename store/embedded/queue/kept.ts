/** So much is read again at most: the row stands for the crash, and for what is beyond this. */
const KEPT_BYTES_MAX = 16 * 1_024 ** 2;

/** Messages that this process published and nobody has handled yet, by their position: they need not be read again. */
export function createKept(bytesMax = KEPT_BYTES_MAX) {
  const messages = new Map<number, Buffer>();
  let bytes = 0;
  return {
    add: (seq: number, message: Buffer): void => {
      if (bytes + message.length > bytesMax) return;
      bytes += message.length;
      messages.set(seq, message);
    },
    has: (seq: number): boolean => messages.has(seq),
    /** It is not kept any longer. */
    take: (seq: number): Buffer | undefined => {
      const message = messages.get(seq);
      if (message === undefined) return undefined;
      bytes -= message.length;
      messages.delete(seq);
      return message;
    },
  };
}
