import { nextTurn, type Session } from "../session.js";

/** All others wait meanwhile. */
const DROPS_PER_TURN = 100;
/** Of messages: what is dropped is written over, byte by byte. */
const BYTES_PER_TURN = 2 * 1_048_576;

export interface DropTurn {
  bytes: number;
}

export const isFull = ({ bytes }: DropTurn): boolean => bytes >= BYTES_PER_TURN;

/**
 * `dropOne` runs within a write, adds the bytes that go to those of its turn, and answers whether it dropped one: so many are counted. Null: the
 * turn is full before its end, and the next one begins with the same.
 */
export async function dropInTurns<Id>(
  session: Session,
  ids: readonly Id[],
  dropOne: (id: Id, turn: DropTurn) => boolean | null,
): Promise<number> {
  session.requireOpen();
  const dropFrom = (first: number): { readonly count: number; readonly next: number } => {
    const turn: DropTurn = { bytes: 0 };
    const end = Math.min(first + DROPS_PER_TURN, ids.length);
    let [count, next] = [0, first];
    for (; next < end && !isFull(turn); next += 1) {
      const isDropped = dropOne(ids[next]!, turn);
      if (isDropped === null) break;
      if (isDropped) count += 1;
    }
    return { count, next };
  };

  let dropped = 0;
  for (let [first, turns] = [0, 0]; first < ids.length; turns += 1) {
    if (turns > 0) await nextTurn();
    const from = first;
    const { count, next } = await session.write(() => dropFrom(from));
    dropped += count;
    first = next;
  }
  return dropped;
}
