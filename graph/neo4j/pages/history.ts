import type { ChangeId, Uid, WorkspaceId } from "../../../core/ids.js";
import { OUTCOMES } from "../../../core/identity/model.js";
import { type Ask, type Row, whole } from "../client.js";
import { OWN_HISTORY, PART_OF_HISTORY, RECENT_HISTORY, RECENT_OWN_HISTORY } from "../cypher/reads.js";

/** What a large profile's page of changes is read from. */
export interface HistoryQuestion {
  readonly ws: WorkspaceId;
  /** Names of the nodes that hold its members. */
  readonly hubs: readonly (string | null)[];
  readonly limit: number;
  readonly before: string;
}

export interface HistoryLimits {
  /** The newest changes of the workspace that are looked at before all members are. */
  readonly looked: number;
  /** Members that one statement reads. */
  readonly members: number;
  /** Changes of one identifier that are all read; of one with more, as many of the workspace's newest are looked at. */
  readonly own: number;
}

/** Each statement takes far less time than the server gives it. */
const LIMITS: HistoryLimits = { looked: 2_000, members: 20_000, own: 10_000 };

type Found = readonly [found: readonly Row[], count: number, oldest: ChangeId | null];

/**
 * The newest changes about any member. Who has many members mostly has some of the workspace's newest changes, and those are found without
 * looking at all members.
 */
export async function newestChanges(
  ask: Ask,
  { ws, hubs, limit, before }: HistoryQuestion,
  limits: Pick<HistoryLimits, "looked" | "members"> = LIMITS,
): Promise<readonly Row[]> {
  const asked = { ws, hubs, outcomes: OUTCOMES, looked: whole(limits.looked) };
  const [recent] = await ask(RECENT_HISTORY, { ...asked, limit: whole(limit), before });
  const [found, count, oldest] = recent as unknown as Found;
  if (found.length === limit || count < limits.looked) return found;
  const rest = { hubs, limit: limit - found.length, before: oldest! };
  return [...found, ...(await newestOfMembers(ask, rest, limits.members))];
}

/** The newest changes about one identifier. Of one with a very large number of them those that are among the workspace's newest. */
export async function newestOwnChanges(
  ask: Ask,
  { ws, uid, limit, before }: Omit<HistoryQuestion, "hubs"> & { readonly uid: Uid },
  limits: Pick<HistoryLimits, "looked" | "own"> = LIMITS,
): Promise<readonly Row[]> {
  const few = await ask(OWN_HISTORY, { ws, uid, limit: whole(limit), before, most: whole(limits.own) });
  const newest = [...(few[0]![0] as readonly Row[])];
  if (newest.length > 0) return newest;
  const asked = { ws, uid, outcomes: OUTCOMES, looked: whole(limits.looked) };
  for (let [looked, last] = [0, before]; looked < limits.own; looked += limits.looked) {
    const [recent] = await ask(RECENT_OWN_HISTORY, { ...asked, limit: whole(limit - newest.length), before: last });
    const [found, count, oldest] = recent as unknown as Found;
    newest.push(...found);
    if (newest.length === limit || count < limits.looked) break;
    last = oldest!;
  }
  return newest;
}

/** Greater than every uid. */
const YOUNGEST = "~";

/** Portion by portion. Of those that follow only what is newer than what was found counts. */
async function newestOfMembers(
  ask: Ask,
  { hubs, limit, before }: Omit<HistoryQuestion, "ws">,
  members: number,
): Promise<readonly Row[]> {
  let newest: readonly Row[] = [];
  for (let below: Uid | string = YOUNGEST; ;) {
    const floor = newest.length < limit ? "" : idOf(newest.at(-1)!);
    const q = { hubs, limit: whole(limit), before, below, floor, members: whole(members), share: 1 };
    const [part] = await ask(PART_OF_HISTORY, q);
    const [found, isMore, oldest] = part as unknown as readonly [readonly Row[], boolean, Uid | null];
    const all = new Map([...newest, ...found].map((row) => [idOf(row), row]));
    newest = [...all.values()].toSorted((a, b) => (idOf(a) > idOf(b) ? -1 : 1)).slice(0, limit);
    if (!isMore) return newest;
    below = oldest!;
  }
}

const idOf = ([changeId]: Row): string => changeId as string;
