import { identifierKey, identifierOf } from "../../core/event/event.js";
import type { Taken } from "../../core/identity/api.js";
import { pairKey, type Change } from "../../core/identity/model.js";
import { isNamed } from "../../core/identity/names.js";
import type { WorkspaceId } from "../../core/ids.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import { NO_RULES } from "../rules/assert.js";
import { readSetWith } from "../rules/read-set.js";

type Reads = Pick<IdentityGraph, "linksRemovedBy" | "markedAt" | "read">;

const NOTHING: Taken = { links: [], unlinked: [], next: null };
/** A change may have removed hundreds of thousands, and several exports run at once. */
const LINKS_PER_PAGE = 5_000;
const PAIRS_PER_READ = 500;

/** The links that the change removed and, behind the last of them, the marks that it left, as far as they still stand so. */
export async function takenBy(
  graph: Reads,
  workspace: WorkspaceId,
  change: Change,
  after: string | null,
): Promise<Taken> {
  const { changeId, outcome } = change;
  // Nothing else takes anything away.
  if (outcome !== "unlinked" && outcome !== "reverted") return NOTHING;
  const { links: gone, next: rest } = await graph.linksRemovedBy(workspace, change, { limit: LINKS_PER_PAGE, after });
  const links: Taken["links"][number][] = [];
  for (let next = 0; next < gone.length; next += PAIRS_PER_READ) {
    const some = gone.slice(next, next + PAIRS_PER_READ);
    const pairs = some.map(({ pair }) => pair);
    const want = readSetWith({ keys: [...new Set(pairs.flat())], pairs }, NO_RULES);
    const { identifiers, removed } = await graph.read(workspace, want);
    for (const { pair, changeId: assertedBy } of some) {
      const standing = removed.get(pairKey(...pair));
      // An end that is being erased is not shown any more.
      if (standing?.by !== changeId || !pair.every((key) => identifiers.has(key))) continue;
      const [from, to] = [identifierOf(pair[0]), identifierOf(pair[1])];
      links.push({ from, to, changeId: assertedBy, by: changeId, at: standing.at });
    }
  }
  return { links, unlinked: rest === null ? await marksOf(graph, workspace, change) : [], next: rest };
}

async function marksOf(graph: Reads, workspace: WorkspaceId, change: Change): Promise<Taken["unlinked"]> {
  const { changeId: by } = change;
  const marks: Taken["unlinked"][number][] = [];
  for (const identifier of change.identifiers.filter(isNamed)) {
    const at = await graph.markedAt(workspace, identifierKey(workspace, identifier), by);
    if (at !== null) marks.push({ identifier, by, at });
  }
  return marks;
}
