import type { Claim } from "./assertions.js";
import type { Operation, Program } from "./program.js";

type Fails = (program: Program) => Promise<boolean>;

/** The smallest program that still fails. An operation names others by their numbers, so what is left means what it meant. */
export async function shrink(program: Program, fails: Fails): Promise<Program> {
  let smallest = program;
  for (let piece = Math.ceil(program.length / 2); piece > 1; piece = Math.ceil(piece / 2))
    smallest = await leaveOut(smallest, piece, fails);
  for (;;) {
    const before = smallest;
    smallest = await simplify(await leaveOut(smallest, 1, fails), fails);
    if (smallest === before) return smallest;
  }
}

/** Pieces of so many operations, from the end, which hangs on all before it. */
async function leaveOut(program: Program, piece: number, fails: Fails): Promise<Program> {
  let smallest = program;
  for (let end = program.length; end > 0; end -= piece) {
    const without = smallest.toSpliced(Math.max(end - piece, 0), Math.min(piece, end));
    if (await fails(without)) smallest = without;
  }
  return smallest;
}

/** Each operation by the first simpler one that fails too. */
async function simplify(program: Program, fails: Fails): Promise<Program> {
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

function simplerOf(operation: Operation): readonly Operation[] {
  if (operation.kind === "claims") return fewerClaims(operation.claims).map((claims) => ({ ...operation, claims }));
  if (operation.kind === "claim") return smaller(operation.claim).map((claim) => ({ ...operation, claim }));
  return [];
}

const without = <T>(list: readonly T[]): readonly (readonly T[])[] => list.map((_, i) => list.toSpliced(i, 1));

const fewerClaims = (claims: readonly Claim[]): readonly (readonly Claim[])[] => [
  ...(claims.length > 1 ? without(claims) : []),
  ...claims.flatMap((claim, i) => smaller(claim).map((less) => claims.with(i, less))),
];

/** An alias has two sides. */
const smaller = (claim: Claim): readonly Claim[] =>
  claim.source === "alias" || claim.identifiers.length === 1
    ? []
    : without(claim.identifiers).map((identifiers) => ({ ...claim, identifiers }));
