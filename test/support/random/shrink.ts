/** How to make a step of a program smaller: the simplest first. */
type SimplerOf<Step> = (step: Step) => readonly Step[];
type Fails<Step> = (program: readonly Step[]) => Promise<boolean>;

/** The smallest program that still fails. A step names others by their numbers, so what is left means what it meant. */
export async function shrink<Step>(
  program: readonly Step[],
  fails: Fails<Step>,
  simplerOf: SimplerOf<Step>,
): Promise<readonly Step[]> {
  let smallest = program;
  for (let piece = Math.ceil(program.length / 2); piece > 1; piece = Math.ceil(piece / 2))
    smallest = await leaveOut(smallest, piece, fails);
  for (;;) {
    const before = smallest;
    smallest = await simplify(await leaveOut(smallest, 1, fails), fails, simplerOf);
    if (smallest === before) return smallest;
  }
}

/** Pieces of so many steps, from the end, which hangs on all before it. */
async function leaveOut<Step>(program: readonly Step[], piece: number, fails: Fails<Step>): Promise<readonly Step[]> {
  let smallest = program;
  for (let end = program.length; end > 0; end -= piece) {
    const without = smallest.toSpliced(Math.max(end - piece, 0), Math.min(piece, end));
    if (await fails(without)) smallest = without;
  }
  return smallest;
}

/** Each step by the first simpler one that fails too. */
async function simplify<Step>(
  program: readonly Step[],
  fails: Fails<Step>,
  simplerOf: SimplerOf<Step>,
): Promise<readonly Step[]> {
  let simplest = program;
  for (const position of program.keys())
    for (let simpler = simplerOf(simplest[position]!); simpler.length > 0;) {
      const [next, ...others] = simpler;
      const changed = simplest.with(position, next!);
      simpler = others;
      if (!(await fails(changed))) continue;
      simplest = changed;
      simpler = simplerOf(next!);
    }
  return simplest;
}

/** The list without each of its members. */
export const without = <T>(list: readonly T[]): readonly (readonly T[])[] => list.map((_, i) => list.toSpliced(i, 1));
