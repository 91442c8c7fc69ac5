import { identifierKey } from "../../core/event/event.js";
import type { IdentifierKey, Uid, WorkspaceId } from "../../core/ids.js";
import type { Change, PlannedChange } from "../../core/identity/model.js";
import { isNamed } from "../../core/identity/names.js";

/** A change of more profiles is listed with the first of them. */
const PROFILES_MAX = 1_000;

/** Whom a change is about, beside the identifiers that it names: those whose uids are ids of the profiles before and after it. */
export const subjectsOf = ({ before, after }: Pick<Change, "before" | "after">): readonly Uid[] =>
  [...new Set([...before, ...after])].slice(0, PROFILES_MAX);

/** The identifiers that it names and is about, as far as they stand. */
export const namedKeys = (workspace: WorkspaceId, { identifiers, unseen }: PlannedChange): readonly IdentifierKey[] =>
  identifiers
    .filter(isNamed)
    .map((identifier) => identifierKey(workspace, identifier))
    .filter((key) => unseen?.has(key) !== true);
