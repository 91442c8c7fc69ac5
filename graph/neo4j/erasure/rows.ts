import type { Erasure } from "../../../core/identity/erasure.js";
import type { Tomb } from "../../../core/ids.js";
import { whole, type Parameters, type Row } from "../client.js";

type Columns = readonly [
  erasureId: Erasure["erasureId"],
  workspace: Erasure["workspace"],
  erasedAt: number,
  keyId: Erasure["keyId"],
  profileId: Erasure["profileId"],
  counts: string,
  suppress: boolean,
  readmittedAt: number | null,
  links: number,
  changes: number,
  isGone: boolean,
  rev: number,
  removed: string,
  cursor: string | null,
  lateEvents: number,
  lateLastAt: number | null,
  completedAt: number | null,
  strangers: readonly Tomb[],
];

/** A record, and the tombs of those that were in no profile. */
export interface StoredErasure {
  readonly erasure: Erasure;
  readonly strangers: readonly Tomb[];
}

export function storedErasureOf([columns]: Row): StoredErasure {
  const [erasureId, workspace, erasedAt, keyId, profileId, counts, suppress, readmittedAt, links, changes, ...rest] =
    columns as Columns;
  const [isGone, rev, removed, cursor, lateEvents, lateLastAt, completedAt, strangers] = rest;
  return {
    erasure: {
      workspace,
      erasureId,
      erasedAt,
      keyId,
      profileId,
      identifiers: new Map(Object.entries(JSON.parse(counts) as Readonly<Record<string, number>>)),
      suppress,
      readmittedAt,
      links,
      changes,
      isGone,
      rev,
      removed: JSON.parse(removed) as Erasure["removed"],
      cursor,
      late: { events: lateEvents, lastAt: lateLastAt },
      completedAt,
    },
    strangers,
  };
}

export const erasureOf = (row: Row): Erasure => storedErasureOf(row).erasure;
export const firstErasureOf = ([row]: readonly Row[]): Erasure | null => (row === undefined ? null : erasureOf(row));

export const wholeOrNull = (ms: number | null) => (ms === null ? null : whole(ms));

export const erasureParameters = (erasure: Erasure, strangers: readonly Tomb[]): Parameters => ({
  id: erasure.erasureId,
  ws: erasure.workspace,
  erased_at: whole(erasure.erasedAt),
  key_id: erasure.keyId,
  profile: erasure.profileId,
  counts: JSON.stringify(Object.fromEntries(erasure.identifiers)),
  suppress: erasure.suppress,
  readmitted_at: wholeOrNull(erasure.readmittedAt),
  links: whole(erasure.links),
  changes: whole(erasure.changes),
  gone: erasure.isGone,
  rev: whole(erasure.rev),
  removed: JSON.stringify(erasure.removed),
  cursor: erasure.cursor,
  late_events: whole(erasure.late.events),
  late_last_at: wholeOrNull(erasure.late.lastAt),
  completed_at: wholeOrNull(erasure.completedAt),
  strangers,
});
