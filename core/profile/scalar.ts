import { compareTexts } from "../text.js";
import type { Scalar } from "./facet.js";

const rank = (value: Scalar): number =>
  value === null ? 0 : typeof value === "boolean" ? 1 : typeof value === "number" ? 2 : 3;

/** Negative, 0 or positive. A fixed total order: null < false < true < numbers < strings by code point; -0 equals 0. */
export function compareScalars(a: Scalar, b: Scalar): number {
  if (a === b) return 0;
  const byRank = rank(a) - rank(b);
  if (byRank !== 0) return byRank;
  if (typeof a === "string" && typeof b === "string") return compareTexts(a, b);
  return a! < b! ? -1 : 1;
}
