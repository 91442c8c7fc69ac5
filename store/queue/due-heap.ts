/** What waits for its time, the earliest on top. */
export interface DueHeap<T> {
  push(item: T): void;
  /** Takes out the earliest if it is due at that time. */
  pop(time: number): T | null;
  /** Infinity when nothing waits. */
  firstDueAt(): number;
  /** Takes out all, in any order. */
  clear(): readonly T[];
}

export function createDueHeap<T extends { readonly dueAt: number }>(): DueHeap<T> {
  let heap: T[] = [];
  const dueAt = (index: number): number => heap[index]?.dueAt ?? Infinity;

  const push = (item: T): void => {
    let at = heap.push(item) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (dueAt(parent) <= item.dueAt) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = item;
  };
  const removeFirst = (): T => {
    const first = heap[0]!;
    const last = heap.pop()!;
    if (heap.length === 0) return first;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      const child = dueAt(left + 1) < dueAt(left) ? left + 1 : left;
      if (dueAt(child) >= last.dueAt) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
    return first;
  };

  return {
    push,
    pop: (time) => (heap.length > 0 && dueAt(0) <= time ? removeFirst() : null),
    firstDueAt: () => dueAt(0),
    clear: () => {
      const all = heap;
      heap = [];
      return all;
    },
  };
}
