import { useEffect, useState } from "preact/hooks";

export interface Store<Value> {
  get(): Value;
  set(value: Value): void;
  /** Answers how to stop. */
  listen(told: (value: Value) => void): () => void;
}

/** A value that several parts of the page show. */
export function createStore<Value>(initial: Value): Store<Value> {
  let value = initial;
  const listeners = new Set<(value: Value) => void>();
  return {
    get: () => value,
    set: (next) => {
      if (Object.is(next, value)) return;
      value = next;
      for (const told of listeners) told(next);
    },
    listen: (told) => {
      listeners.add(told);
      return () => void listeners.delete(told);
    },
  };
}

export function useStore<Value>(store: Store<Value>): Value {
  const [value, setValue] = useState(store.get());
  useEffect(() => {
    // What was set between the first drawing and now.
    setValue(() => store.get());
    return store.listen((next) => setValue(() => next));
  }, [store]);
  return value;
}
