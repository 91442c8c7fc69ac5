import { AppError } from "../core/errors.js";
import { identifierKey, type Identifier } from "../core/event/event.js";
import type { ProfileId, Uid, WorkspaceId } from "../core/ids.js";
import type { FoundIdentifier } from "../core/identity/api.js";
import type { Assertion, ProfileRef, Rules } from "../core/identity/model.js";
import type { Known } from "../core/identity/tombstone.js";
import type { ChangeLog, GraphTransactions, ProfileReads } from "../core/ports/identity-graph.js";
import { readSetWith } from "./rules/read-set.js";
import { sharedIdentifiersOf } from "./rules/shared-identifiers.js";
import { createWorkingState, refOf } from "./rules/working-state.js";

/** Two identifiers of one profile. */
export interface Sides extends ProfileRef {
  readonly from: Uid;
  readonly to: Uid;
}

type Reads = Pick<GraphTransactions, "read"> & Pick<ProfileReads, "resolve"> & Pick<ChangeLog, "findChange">;

/** Of a change, the profiles before and after it that are looked at: what is taken back is about as large as they are. */
const RESOLVED_MAX = 20;

/** What identifiers and changes stand for by now, from reads without a lock. */
export function createLookup(graph: Reads) {
  const profiles = async (workspace: WorkspaceId, identifiers: readonly Identifier[]) => {
    const keys = identifiers.map((one) => identifierKey(workspace, one));
    const snapshot = await graph.read(workspace, { keys: [...new Set(keys)], pairs: [] });
    return keys.map((key): FoundIdentifier | null => {
      const seen = snapshot.identifiers.get(key);
      return seen === undefined
        ? null
        : Object.assign(refOf(snapshot.components.get(seen.component)!), { uid: seen.uid });
    });
  };
  return {
    profiles,
    /** Read together: what an identifier was seen with counts the others only once. */
    named: async (
      workspace: WorkspaceId,
      event: Pick<Assertion, "identifiers" | "scoped">,
      rules: Rules,
    ): Promise<readonly Known[]> => {
      const { identifiers } = event;
      const keys = identifiers.map((one) => identifierKey(workspace, one));
      const snapshot = await graph.read(workspace, readSetWith({ keys: [...new Set(keys)], pairs: [] }, rules));
      const shared = sharedIdentifiersOf(createWorkingState(snapshot), { assertion: event, keys }, rules);
      return keys.map((key, n) => ({
        isKnown: snapshot.identifiers.has(key),
        isPerson: rules.isPerson(identifiers[n]!.namespace),
        isShared: shared.has(n),
      }));
    },
    /** Null when the two are not in one profile. */
    sides: async (workspace: WorkspaceId, from: Identifier, to: Identifier): Promise<Sides | null> => {
      const [x, y] = [identifierKey(workspace, from), identifierKey(workspace, to)];
      const { identifiers, components } = await graph.read(workspace, { keys: [...new Set([x, y])], pairs: [[x, y]] });
      const [one, other] = [identifiers.get(x) ?? unknown("from"), identifiers.get(y) ?? unknown("to")];
      if (one.component !== other.component) return null;
      return { ...refOf(components.get(one.component)!), from: one.uid, to: other.uid };
    },
    /** About how many identifiers are looked at by work on the profiles of these. */
    sizeOf: async (workspace: WorkspaceId, identifiers: readonly Identifier[]): Promise<number> =>
      sum(await profiles(workspace, identifiers)),
    /** The same for taking a change back: 0 for one that is not there. */
    sizeOfChange: async (workspace: WorkspaceId, changeId: Parameters<Reads["findChange"]>[1]): Promise<number> => {
      const change = await graph.findChange(workspace, changeId);
      if (change === null) return 0;
      const ids: readonly ProfileId[] = [...new Set([...change.before, ...change.after])];
      const found = ids.slice(0, RESOLVED_MAX).map((id) => graph.resolve(workspace, id));
      return ids.length + sum(await Promise.all(found));
    },
  };
}

/** One that several ids name counts once. */
const sum = (refs: readonly (ProfileRef | null)[]): number => {
  const sizes = new Map(refs.map((ref) => [ref?.profileId, ref?.size ?? 0]));
  return [...sizes.values()].reduce((all, size) => all + size, 0);
};

function unknown(path: string): never {
  throw new AppError("not_found", `There is no such identifier: ${path}.`, {
    errors: [{ path, message: "was never seen" }],
  });
}
