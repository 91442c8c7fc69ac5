import type { Messages } from "../messages.js";
import type { QueueRows } from "./rows.js";
import type { Session } from "../session.js";

/** A message and its position. */
export type QueueMessage = readonly [seq: number, message: Buffer];

interface Group {
  readonly rows: QueueMessage[];
  readonly resolve: (() => void)[];
  readonly reject: ((error: unknown) => void)[];
}

/**
 * All messages published in one turn of the loop are one write of a few statements. What is given together is never split: all of it is
 * kept, or nothing. `published` is told each group that is on disk, `refused` the size of one that is not.
 */
export function createPublisher(
  session: Session,
  rows: QueueRows,
  messages: Messages,
  published: (rows: readonly QueueMessage[]) => void,
  refused: (count: number) => void,
): (messages: readonly Buffer[]) => Promise<void> {
  let open: Group | null = null;

  /** Nobody may join a group that is being written: they would be told of a commit that does not contain them. */
  const shut = (group: Group): void => {
    if (open === group) open = null;
  };
  const write = async (group: Group): Promise<void> => {
    try {
      await session.write(() => {
        shut(group);
        rows.insert(group.rows);
      });
    } catch (error) {
      shut(group);
      refused(group.rows.length);
      return group.reject.forEach((reject) => reject(error));
    }
    for (const [seq, message] of group.rows) messages.name(seq, message);
    published(group.rows);
    for (const resolve of group.resolve) resolve();
  };

  const placed = (given: readonly Buffer[]): readonly QueueMessage[] => {
    try {
      return given.map((message) => [messages.next(), message]);
    } catch (error) {
      refused(given.length);
      throw error;
    }
  };

  return (given) =>
    new Promise((resolve, reject) => {
      const its = placed(given);
      if (open === null) {
        open = { rows: [], resolve: [], reject: [] };
        void write(open);
      }
      for (const one of its) open.rows.push(one);
      open.resolve.push(resolve);
      open.reject.push(reject);
    });
}
