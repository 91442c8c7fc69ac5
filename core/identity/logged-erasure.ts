import type { ErasureId } from "../ids.js";
import { NOTHING_REMOVED, saidAt, type Buried, type Erasure } from "./erasure.js";

/** A record of an erasure, and a part of what it buried. */
export interface LoggedErasure {
  readonly erasure: Erasure;
  readonly buried: readonly Buried[];
}

/** Of the form. A line of another version stops the start: to pass over it would bring somebody back. */
const VERSION = 1;

type Written = Omit<Erasure, "identifiers" | "removed" | "cursor" | "rev" | "late" | "links" | "changes" | "isGone"> & {
  readonly v: typeof VERSION;
  readonly identifiers: Readonly<Record<string, number>>;
  readonly buried: readonly (readonly [tomb: Buried["tomb"], uid: Buried["uid"]])[];
};

/** What of it is to outlive the stores, as JSON. */
export function toLogText({ erasure, buried }: LoggedErasure): string {
  const { workspace, erasureId, erasedAt, keyId, profileId, identifiers, suppress, readmittedAt, completedAt } =
    erasure;
  const written: Written = {
    v: VERSION,
    workspace,
    erasureId,
    erasedAt,
    keyId,
    profileId,
    suppress,
    readmittedAt,
    completedAt,
    identifiers: Object.fromEntries(identifiers),
    buried: buried.map(({ tomb, uid }) => [tomb, uid]),
  };
  return JSON.stringify(written);
}

/** As the record of an erasure that has removed nothing yet. Throws for what this build did not write. */
export function fromLogText(text: string): LoggedErasure {
  const { v, buried, identifiers, ...written } = JSON.parse(text) as Written;
  if ((v as number) !== VERSION)
    throw new Error(`an entry of version ${String(v)}, and this build knows ${VERSION} alone`);
  const erasure: Erasure = {
    ...written,
    identifiers: new Map(Object.entries(identifiers)),
    ...NOTHING_REMOVED,
  };
  return { erasure, buried: buried.map(([tomb, uid]) => ({ tomb, uid })) };
}

/** By the times in the lines: several processes write them, and a keeper may write what it read before a readmission. */
export function keepLatest(records: Map<ErasureId, Erasure>, erasure: Erasure): void {
  const last = records.get(erasure.erasureId);
  if (last !== undefined && saidAt(last) > saidAt(erasure)) return;
  records.delete(erasure.erasureId);
  records.set(erasure.erasureId, erasure);
}
