import { identifierKey } from "../../core/event/event.js";
import type { Uid } from "../../core/ids.js";
import { pairKey, type Link, type Member } from "../../core/identity/model.js";
import type { GraphRows, IdentifierRow, LinkRow, ProfileRow } from "../../core/ports/copying.js";
import type { Backends } from "../backends.js";
import type { Findings } from "./findings.js";
import { forbiddenOf, verifyForbiddenPairs } from "./forbidden-pairs.js";
import { forEachRow } from "./rows.js";

type Ports = Pick<Backends, "graph" | "copying">;

const PER_PAGE = 1_000;
/** A larger one is not searched: it would take the memory of the process. */
const MEMBERS_MAX = 100_000;
const TRIES = 3;

/** Profiles against their identifiers, links and forbidden pairs. */
export async function verifyGraph(ports: Ports, findings: Findings, isRepair: boolean): Promise<void> {
  const { graph, copying } = ports;
  await forEachRow<GraphRows, "profiles">(copying.graph, "profiles", (row) =>
    verifyProfile(ports, findings, row, isRepair),
  );
  await verifyForbiddenPairs(ports, findings, isRepair);
  await forEachRow<GraphRows, "identifiers">(copying.graph, "identifiers", async (row) => {
    const { workspace, uid } = row;
    if ((await graph.resolve(workspace, uid)) !== null || (await isErased(graph, row))) return;
    findings.found("lost_identifiers", uid);
  });
  await forEachRow<GraphRows, "links">(copying.graph, "links", async (row) => {
    const { workspace, from, to, removedAt } = row;
    if (removedAt !== null) return;
    const [a, b] = await Promise.all([graph.resolve(workspace, from), graph.resolve(workspace, to)]);
    if (a?.profileId === b?.profileId || !(await isCrossing(graph, row))) return;
    findings.found("crossing_links", `${from} ${to}`);
  });
}

/** Both sides and the link at one moment: it may have been removed since its row was read, or its profile have got another id. */
async function isCrossing(graph: Ports["graph"], { workspace, from, to }: LinkRow): Promise<boolean> {
  const identifiers = await graph.identifiersOf(workspace, [from, to]);
  const [one, other] = [identifiers.get(from), identifiers.get(to)];
  // An erasure takes the links away first.
  if (one === undefined || other === undefined) return false;
  const pair = [identifierKey(workspace, one), identifierKey(workspace, other)] as const;
  const now = await graph.read(workspace, { keys: pair, pairs: [pair] });
  const [a, b] = pair.map((key) => now.identifiers.get(key)?.component);
  return now.linked.has(pairKey(...pair)) && a !== b;
}

/** Since its row was read. */
async function isErased(graph: Ports["graph"], { workspace, uid, identifier }: IdentifierRow): Promise<boolean> {
  const key = identifierKey(workspace, identifier);
  return (await graph.tombstones(workspace, [key])).get(key)?.uids.includes(uid) === true;
}

async function verifyProfile(
  { graph, copying }: Ports,
  findings: Findings,
  row: ProfileRow,
  isRepair: boolean,
): Promise<void> {
  const { workspace, profileId } = row;
  if (row.size > MEMBERS_MAX) return findings.passedOver(`profiles of more than ${MEMBERS_MAX} identifiers`);
  const members = await membersOf(graph, row);
  const now = await graph.resolve(workspace, profileId);
  // It merged, or was taken apart, since its row was read.
  if (now?.profileId !== profileId) return;
  const forbidden = await forbiddenOf({ graph }, row, members);
  const truth = { ...row, size: members.length, counts: countsOf(members), forbidden };
  if (
    JSON.stringify([row.size, row.counts, row.forbidden.toSorted()]) !==
    JSON.stringify([truth.size, truth.counts, forbidden])
  ) {
    // A live service may have changed it since its row was read.
    if ((await revOf(graph, row)) !== row.rev) return;
    findings.found("profile_summaries", profileId);
    if (isRepair && (await copying.graph.mend(truth))) findings.mended("profile_summaries");
  }
  const [oldest] = members.map(({ uid }) => uid).toSorted();
  if (oldest !== profileId) findings.found("profile_ids", profileId);
  if (await isConnected(members, linksOf(graph, row))) return;
  const state = await connectionOf(graph, row);
  if (state === "loose") findings.found("loose_profiles", profileId);
  if (state === "changing") findings.passedOver("profiles that kept changing");
}

/** Read again until nothing of it changes meanwhile: a live service may have taken one out between its identifiers and its links. */
async function connectionOf(graph: Ports["graph"], row: ProfileRow): Promise<"connected" | "loose" | "changing"> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const rev = await revOf(graph, row);
    if (rev === null) return "connected";
    const isWhole = await isConnected(await membersOf(graph, row), linksOf(graph, row));
    if (isWhole || (await revOf(graph, row)) === rev) return isWhole ? "connected" : "loose";
  }
  return "changing";
}

/** Null when there is no such profile any more: it merged, or was erased. */
async function revOf(graph: Ports["graph"], { workspace, profileId }: ProfileRow): Promise<number | null> {
  const identifier = (await graph.identifiersOf(workspace, [profileId])).get(profileId);
  if (identifier === undefined) return null;
  const keys = [identifierKey(workspace, identifier)];
  const { components } = await graph.read(workspace, { keys, pairs: [], rules: { limited: [], seenWithMax: 0 } });
  const [profile] = components.values();
  return profile?.profileId === profileId ? profile.rev : null;
}

async function membersOf(graph: Ports["graph"], { workspace, profileId }: ProfileRow): Promise<readonly Member[]> {
  const members: Member[] = [];
  for (let after: Uid | null = null; ;) {
    const page: readonly Member[] = await graph.members(workspace, profileId, { limit: PER_PAGE, after });
    members.push(...page);
    if (page.length < PER_PAGE) return members;
    after = page.at(-1)!.uid;
  }
}

/** Page by page: a profile may have many more links than identifiers. */
async function* linksOf(graph: Ports["graph"], { workspace, profileId }: ProfileRow): AsyncGenerator<readonly Link[]> {
  for (let after: { readonly from: Uid; readonly to: Uid } | null = null; ;) {
    const page: readonly Link[] = await graph.links(workspace, profileId, { limit: PER_PAGE, after });
    yield page;
    if (page.length < PER_PAGE) return;
    after = page.at(-1)!;
  }
}

function countsOf(members: readonly Member[]): ProfileRow["counts"] {
  const counts = new Map<string, number>();
  for (const { identifier } of members) counts.set(identifier.namespace, (counts.get(identifier.namespace) ?? 0) + 1);
  return [...counts].toSorted(([a], [b]) => (a < b ? -1 : 1));
}

/** Keeps no link, and reads none after those that connect all members. */
async function isConnected(members: readonly Member[], links: AsyncIterable<readonly Link[]>): Promise<boolean> {
  const parents = new Map<Uid, Uid>(members.map(({ uid }) => [uid, uid]));
  const rootOf = (uid: Uid): Uid => {
    let root = uid;
    while (parents.get(root) !== root) root = parents.get(root)!;
    parents.set(uid, root);
    return root;
  };
  let groups = members.length;
  if (groups <= 1) return true;
  for await (const page of links) {
    for (const { from, to } of page) {
      if (!parents.has(from) || !parents.has(to)) continue;
      const [a, b] = [rootOf(from), rootOf(to)];
      if (a !== b) groups -= 1;
      parents.set(a, b);
    }
    if (groups === 1) return true;
  }
  return false;
}
