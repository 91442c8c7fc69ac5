import { identifierKey, type Identifier } from "../../../core/event/event.js";
import type { ErasureId, ForbiddenPairId, ProfileId, WorkspaceId } from "../../../core/ids.js";
import type { Erasure, ErasureRequest, ErasureTarget } from "../../../core/identity/erasure.js";
import type { TombOf } from "../../../core/identity/tombstone.js";
import { erasuresOf, newErasure, type Found, type LiveProfile } from "../../rules/erasing.js";
import type { Ask, Row, Step } from "../client.js";
import {
  BURY,
  END_PAIRS,
  ERASURE_OF_UID,
  FIND_ERASURE,
  PROFILES_OF_KEYS,
  PROFILE_OF_UID,
  SEAL,
  WRITE_ERASURE,
} from "../cypher/erasure.js";
import { SPREAD } from "../cypher/staging.js";
import { erasureParameters, firstErasureOf } from "./rows.js";
import { readTombstones } from "./tombstones.js";

type ProfileRow = readonly [
  n: number,
  profileId: ProfileId,
  rev: number | null,
  counts: string,
  forbidden: readonly ForbiddenPairId[] | null,
];

const profileOf = ([, profileId, rev, counts, forbidden]: ProfileRow): LiveProfile => ({
  profileId,
  rev: rev ?? 0,
  counts: new Map(Object.entries(JSON.parse(counts) as Readonly<Record<string, number>>)),
  forbidden: forbidden ?? [],
});

const findErasure = async (ask: Ask, ws: WorkspaceId, id: ErasureId): Promise<Erasure | null> =>
  firstErasureOf(await ask(FIND_ERASURE, { ws, id }));

/** What a request is about, as it is now. */
export async function findTarget(ask: Ask, tombOf: TombOf, ws: WorkspaceId, target: ErasureTarget): Promise<Found> {
  if ("profileId" in target) {
    const [row] = (await ask(PROFILE_OF_UID, { ws, uid: target.profileId })) as unknown as readonly ProfileRow[];
    if (row !== undefined) return { kind: "live", profile: profileOf(row), strangers: [] };
    const [dead] = await ask(ERASURE_OF_UID, { ws, uid: target.profileId });
    const erasure = dead === undefined ? null : await findErasure(ask, ws, dead[0] as ErasureId);
    return erasure === null ? { kind: "unknown" } : { kind: "dead", erasures: [erasure], isNamed: false };
  }
  const keys = target.identifiers.map((one) => identifierKey(ws, one));
  const rows = (await ask(PROFILES_OF_KEYS, { ws, keys })) as unknown as readonly ProfileRow[];
  const known = new Set(rows.map(([n]) => n));
  const strangers = target.identifiers.filter((_, n) => !known.has(n));
  const profiles = new Map(rows.map((row) => [row[1], profileOf(row)]));
  const [first, ...others] = profiles.values();
  if (first === undefined) return ofStrangers(ask, tombOf, ws, strangers);
  if (others.length === 0) return { kind: "live", profile: first, strangers };
  return { kind: "several", profileIds: [...profiles.keys()].toSorted() };
}

async function ofStrangers(
  ask: Ask,
  tombOf: TombOf,
  ws: WorkspaceId,
  strangers: readonly Identifier[],
): Promise<Found> {
  const keys = strangers.map((one) => identifierKey(ws, one));
  const tombstones = await readTombstones(ask, tombOf, ws, keys);
  const erasures: Erasure[] = [];
  for (const id of erasuresOf(keys.map((key) => tombstones.get(key))) ?? []) {
    const found = await findErasure(ask, ws, id);
    if (found !== null) erasures.push(found);
  }
  const [first, ...others] = erasures;
  return first === undefined
    ? { kind: "nobody", strangers }
    : { kind: "dead", erasures: [first, ...others], isNamed: true };
}

/** Writes the record, and seals the profile: the cost does not depend on its size. */
export async function seal(
  step: Step,
  tombOf: TombOf,
  ws: WorkspaceId,
  request: ErasureRequest,
  erasureId: ErasureId,
  found: Extract<Found, { readonly kind: "live" | "nobody" }>,
): Promise<void> {
  const tombs = found.strangers.map((one) => tombOf(identifierKey(ws, one)));
  const erasure = newErasure(ws, request, erasureId, found);
  await step.run(WRITE_ERASURE, erasureParameters(erasure, tombs));
  if (tombs.length > 0) {
    const buried = tombs.map((tomb) => ({ tomb, uid: null }));
    await step.run(BURY, { ws, id: erasureId, buried });
  }
  if (found.kind === "nobody") return;
  const { profileId, forbidden } = found.profile;
  if (forbidden.length > 0) {
    const others: readonly Row[] = await step.run(END_PAIRS, { ws, forbidden, profile: profileId });
    await step.run(SPREAD, { ids: others.map(([id]) => id) });
  }
  await step.run(SEAL, { profile: profileId, id: erasureId });
}
