import { LRUCache } from "lru-cache";

/** Deadlines by the service's time, which stands still for as long as the machine's clock is behind it: up to a day. */
export interface Deadlines {
  /** Whether that time has come, or this process has seen the deadline for as long as was left of it. `name`: of this deadline alone. */
  isOver(name: string, until: number, at: number): boolean;
}

/** One that is forgotten is waited for anew, and only while time stands still. */
const SEEN_MAX = 10_000;

/** `steady`: milliseconds that no clock sets back. */
export function createDeadlines(steady: () => number = () => performance.now()): Deadlines {
  const ends = new LRUCache<string, number>({ max: SEEN_MAX });
  return {
    isOver: (name, until, at) => {
      if (until <= at) return true;
      const key = `${name} ${until}`;
      const end = ends.get(key) ?? steady() + until - at;
      ends.set(key, end);
      return end <= steady();
    },
  };
}
