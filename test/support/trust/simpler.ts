import { without } from "../random/shrink.js";
import type { Claim } from "./assertions.js";
import type { Operation } from "./program.js";

/** Simpler ones that mean about the same. */
export function simplerOf(operation: Operation): readonly Operation[] {
  if (operation.kind === "claims") return fewerClaims(operation.claims).map((claims) => ({ ...operation, claims }));
  if (operation.kind === "claim") return smaller(operation.claim).map((claim) => ({ ...operation, claim }));
  return [];
}

const fewerClaims = (claims: readonly Claim[]): readonly (readonly Claim[])[] => [
  ...(claims.length > 1 ? without(claims) : []),
  ...claims.flatMap((claim, i) => smaller(claim).map((less) => claims.with(i, less))),
];

/** An alias has two sides. */
const smaller = (claim: Claim): readonly Claim[] =>
  claim.source === "alias" || claim.identifiers.length === 1
    ? []
    : without(claim.identifiers).map((identifiers) => ({ ...claim, identifiers }));
