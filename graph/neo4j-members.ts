import type { ProfileId, Uid, WorkspaceId } from "../core/ids.js";
import type { Member, MemberPage } from "../core/identity.js";
import type { IdentityGraph } from "../core/ports.js";
import type { Client, Row } from "./neo4j-client.js";
import { PAGE_OF_MEMBERS, WHOLE_PROFILE } from "./neo4j-statements.js";
import { readLocked } from "./neo4j-step.js";
import { inTwoTries } from "./neo4j-tries.js";

type MemberRow = readonly [uid: Uid, ns: string, value: string];

/** The workspace's writes wait for a page that is read under its lock. */
const LOCKED_ROWS_MAX = 1_000;

/**
 * A read without a lock may miss what a merge moves just then. The answer is proven by its count when it is the whole profile, as
 * it nearly always is; any other page is read under the lock, in parts.
 */
export function createMembers(client: Client): IdentityGraph["members"] {
  return async (workspace, profileId, page) => {
    if (page.after === null) {
      const whole = await readWhole(client, workspace, profileId, page.limit);
      if (whole !== null) return whole;
    }
    return readInParts(client, workspace, profileId, page);
  };
}

/** Null when it is larger than the limit, or in doubt; empty when no identifier has this uid. */
async function readWhole(
  client: Client,
  ws: WorkspaceId,
  uid: ProfileId,
  limit: number,
): Promise<readonly Member[] | null> {
  const [row] = await inTwoTries(() => client.read(WHOLE_PROFILE, { ws, uid, limit }));
  if (row === undefined) return [];
  const [size, members] = row as [number | null, readonly MemberRow[]];
  return members.length === size ? members.map(memberOf) : null;
}

async function readInParts(
  client: Client,
  workspace: WorkspaceId,
  uid: ProfileId,
  { limit, after }: MemberPage,
): Promise<readonly Member[]> {
  const members: Member[] = [];
  while (members.length < limit) {
    const most = Math.min(limit - members.length, LOCKED_ROWS_MAX);
    const last = members.at(-1)?.uid ?? after ?? "";
    // Found anew each time: the profile may have merged since the last part.
    const found = pageOf(await readLocked(client, workspace, PAGE_OF_MEMBERS, { uid, after: last, limit: most }));
    members.push(...found.map(memberOf));
    if (found.length < most) break;
  }
  return members;
}

const pageOf = ([row]: readonly Row[]): readonly MemberRow[] => (row?.[0] ?? []) as readonly MemberRow[];

const memberOf = ([uid, namespace, value]: MemberRow): Member => ({ uid, identifier: { namespace, value } });
