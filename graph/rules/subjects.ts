import type { Uid } from "../../core/ids.js";
import type { Change } from "../../core/identity/model.js";

/** A change of more profiles is listed with the first of them. */
const PROFILES_MAX = 1_000;

/** Whom a change is about, beside the identifiers that it names: those whose uids are ids of the profiles before and after it. */
export const subjectsOf = ({ before, after }: Pick<Change, "before" | "after">): readonly Uid[] =>
  [...new Set([...before, ...after])].slice(0, PROFILES_MAX);
