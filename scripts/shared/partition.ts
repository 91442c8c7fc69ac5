export type Partition = ReturnType<typeof createPartition>;

/** Union-find over names: the oracle of who is one person with whom. */
export function createPartition() {
  const parents = new Map<string, string>();
  const rootOf = (name: string): string => {
    let root = name;
    while (parents.get(root)! !== root) root = parents.get(root)!;
    // Everybody on the way points at the root from now on.
    for (let at = name; at !== root;) {
      const parent = parents.get(at)!;
      parents.set(at, root);
      at = parent;
    }
    return root;
  };
  return {
    /** Makes them one part. */
    join: (names: readonly string[]): void => {
      for (const name of names) if (!parents.has(name)) parents.set(name, name);
      const [first, ...rest] = names;
      for (const other of rest) parents.set(rootOf(other), rootOf(first!));
    },
    /** The part of a name that was joined, else null. */
    find: (name: string): string | null => (parents.has(name) ? rootOf(name) : null),
    names: (): readonly string[] => [...parents.keys()],
  };
}
