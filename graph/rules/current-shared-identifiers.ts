import { AppError } from "../../core/errors.js";
import { identifierKey } from "../../core/event/event.js";
import type { Uid, WorkspaceId } from "../../core/ids.js";
import type { Member, Rules } from "../../core/identity/model.js";
import type { MemberPage, SharedPage } from "../../core/identity/pages.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import { readSetWith } from "./read-set.js";

/** Each has many links, and reading it goes through the newest of them. */
const LOOKED_AT_ONCE = 32;
/** About so many are looked at for one page: after the limit was raised, none of many thousands may be beyond it. */
const LOOKED_MAX = 320;

/** Once it is expired nobody waits for the answer. */
interface Call {
  readonly expired: boolean;
}

/** The mark was set under the limit of that time; whether the identifier links now depends on the present limit. */
export function createCurrentSharedIdentifiers(
  graph: Pick<IdentityGraph, "sharedIdentifiers" | "read">,
  rulesOf: (workspace: WorkspaceId) => Promise<Rules>,
) {
  const isStill = async (workspace: WorkspaceId, marked: readonly Member[], rules: Rules, call: Call) => {
    const { sharedIdentifierLimit } = rules;
    if (sharedIdentifierLimit === null || marked.length === 0) return () => false;
    const keys = marked.map(({ identifier }) => identifierKey(workspace, identifier));
    const still = new Set<Uid>();
    for (let from = 0; from < keys.length; from += LOOKED_AT_ONCE) {
      if (call.expired) throw new AppError("unavailable", "There was no time left to look at all shared identifiers.");
      const some = keys.slice(from, from + LOOKED_AT_ONCE);
      const { identifiers } = await graph.read(workspace, readSetWith({ keys: some, pairs: [] }, rules));
      for (const { uid, seenWith } of identifiers.values())
        if (new Set(seenWith).size > sharedIdentifierLimit) still.add(uid);
    }
    return ({ uid }: Member) => still.has(uid);
  };
  return {
    list: async (workspace: WorkspaceId, { limit, after }: MemberPage, call: Call): Promise<SharedPage> => {
      const rules = await rulesOf(workspace);
      if (rules.sharedIdentifierLimit === null) return { members: [], next: null };
      const members: Member[] = [];
      let last = after;
      for (let looked = 0; looked < LOOKED_MAX; looked += limit) {
        const marked = await graph.sharedIdentifiers(workspace, { limit: limit + 1, after: last });
        members.push(...marked.filter(await isStill(workspace, marked, rules, call)));
        if (members.length > limit) return { members: members.slice(0, limit), next: members[limit - 1]!.uid };
        if (marked.length <= limit) return { members, next: null };
        last = marked.at(-1)!.uid;
      }
      return { members, next: last };
    },
    /** The same members, each marked by the present limit. */
    marked: async (workspace: WorkspaceId, members: readonly Member[], call: Call): Promise<readonly Member[]> => {
      const marked = members.filter(({ isShared }) => isShared);
      if (marked.length === 0) return members;
      const is = await isStill(workspace, marked, await rulesOf(workspace), call);
      return members.map((one) => (one.isShared && !is(one) ? { ...one, isShared: false } : one));
    },
  };
}
