const STATES_MAX = 500_000;

/** Goes from a state, plain data, to all that its moves lead to, each once; answers how many there are. */
export function reach<State>(first: State, movesOf: (state: State) => readonly State[]): number {
  const seen = new Set([JSON.stringify(first)]);
  const left = [first];
  for (let state = left.pop(); state !== undefined; state = left.pop())
    for (const next of movesOf(state)) {
      const key = JSON.stringify(next);
      if (seen.has(key)) continue;
      seen.add(key);
      if (seen.size > STATES_MAX) throw new Error("There are too many states to explore.");
      left.push(next);
    }
  return seen.size;
}
