import type { IdentifierKey, ProfileId, Uid, WorkspaceId } from "../../core/ids.js";
import type { Component } from "../../core/identity/model.js";
import type { Border, BorderLink } from "../../core/identity/step.js";
import { BORDER, FIRST_OUTSIDE } from "./cypher/undo.js";
import type { Ask } from "./client.js";

type BorderRow = readonly [
  set: number,
  profileId: ProfileId,
  uids: readonly Uid[],
  out: readonly (readonly [Uid, IdentifierKey, Uid])[],
];

/** What leads out of sets of identifiers. It costs the sets and their links, however large the profile is. */
export async function seeBorder(
  ask: Ask,
  workspace: WorkspaceId,
  sets: readonly (readonly IdentifierKey[])[],
): Promise<Border> {
  const own = sets.map((keys) => keys.filter((key) => key.startsWith(`${workspace}:`)));
  const rows = (await ask(BORDER, { sets: own })) as unknown as readonly BorderRow[];
  const links: BorderLink[] = [];
  const inside = new Map<ProfileId, Set<Uid>>();
  for (const [set, profileId, uids, out] of rows) {
    const known = inside.get(profileId) ?? new Set();
    for (const uid of uids) known.add(uid);
    inside.set(profileId, known);
    for (const [fromUid, to, uid] of out) links.push({ set, fromUid, to, uid });
  }
  const firstOutside = new Map<Component, Uid>();
  for (const [profileId, uids] of inside) {
    const [row] = await ask(FIRST_OUTSIDE, { id: profileId, inside: [...uids] });
    if (row !== undefined) firstOutside.set(profileId, row[0] as Uid);
  }
  return { links, firstOutside };
}
