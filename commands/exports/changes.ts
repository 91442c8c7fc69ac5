import type { Change } from "../../core/identity/model.js";
import { isNamed } from "../../core/identity/names.js";
import type { ChangeId, WorkspaceId } from "../../core/ids.js";
import type { Services } from "../services.js";
import { nextLimit } from "./pace.js";

/** As the list of changes reads them: one may have 250 KB, and a read is made in one turn. */
const PACE = { least: 8, most: 32 };

/** The records of all changes, the newest first. */
export const exportChanges = (
  services: Pick<Services, "identity">,
  workspace: WorkspaceId,
  before: ChangeId | null,
): AsyncGenerator<readonly Change[], void> => readChanges(services, workspace, null, before);

/** Those of an outcome, null: of any; the newest first, a few at a time. */
export async function* readChanges(
  { identity }: Pick<Services, "identity">,
  workspace: WorkspaceId,
  outcome: Change["outcome"] | null,
  before: ChangeId | null,
): AsyncGenerator<readonly Change[], void> {
  for (let last = before, limit = PACE.least; ;) {
    const found = await identity.changes(workspace, outcome, { limit, before: last });
    yield found;
    if (found.length < limit) return;
    last = found.at(-1)!.changeId;
    limit = nextLimit(PACE, found.length, bytesOf(found));
  }
}

const UUID_BYTES = 39;
/** Of one that a record names, beside its value. */
const NAMED_BYTES = 60;

/** Of their text, about. */
function bytesOf(changes: readonly Change[]): number {
  let bytes = 0;
  for (const { identifiers, before, after, dropped } of changes) {
    const kept = dropped.flatMap((one) => ("identifier" in one ? [one.identifier] : [one.from, one.to]));
    for (const one of [...identifiers, ...kept])
      bytes += NAMED_BYTES + (isNamed(one) ? Buffer.byteLength(one.value) : 0);
    bytes += UUID_BYTES * (before.length + after.length);
  }
  return bytes;
}
