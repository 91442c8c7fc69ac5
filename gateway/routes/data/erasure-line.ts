import { Type, type Static } from "typebox";
import type { ImportRecord } from "../../../commands/imports/records.js";
import { mismatch } from "../../../core/errors.js";
import { NOTHING_REMOVED } from "../../../core/identity/erasure.js";
import { NAMESPACE_NAME } from "../../../core/identity/namespaces.js";
import type { ErasureId, KeyId, ProfileId, Uid, WorkspaceId } from "../../../core/ids.js";
import { nullable, record, TIME, UUID } from "../../shapes/fields.js";

const IDENTIFIERS_MAX = 1_000;

/**
 * An erasure of the old installation. No export has this line, because its log names nobody: who holds the log and its secret makes it. A
 * large erasure has several.
 */
export const ERASURE_LINE = record({
  type: Type.Literal("erasure"),
  erasure_id: UUID,
  erased_at: TIME,
  key_id: Type.String(),
  profile_id: nullable(UUID),
  suppress: Type.Boolean(),
  readmitted_at: nullable(TIME),
  counts: Type.Record(Type.String(), Type.Integer({ minimum: 0 })),
  identifiers: Type.Array(
    record({
      namespace: Type.String({ pattern: NAMESPACE_NAME.source }),
      value: Type.String({ minLength: 1 }),
      uid: nullable(UUID),
    }),
    { minItems: 1, maxItems: IDENTIFIERS_MAX },
  ),
});

/** So far may the clocks of two installations be apart. */
const AHEAD_MS_MAX = 60_000;

/** As the record of an erasure that has removed nothing here yet. One in the future would drop what its people send until then. */
export function readErasure(line: Static<typeof ERASURE_LINE>, now: number): ImportRecord {
  const erasedAt = Date.parse(line.erased_at);
  if (erasedAt > now + AHEAD_MS_MAX) throw mismatch([{ path: "erased_at", message: "must not be in the future" }]);
  const identifiers = line.identifiers.map(({ namespace, value, uid }) => ({
    identifier: { namespace, value },
    uid: uid as Uid | null,
  }));
  const erasure = {
    // The target's own is put in its place.
    workspace: "" as WorkspaceId,
    erasureId: line.erasure_id as ErasureId,
    erasedAt,
    keyId: line.key_id as KeyId,
    profileId: line.profile_id as ProfileId | null,
    identifiers: new Map(Object.entries(line.counts)),
    suppress: line.suppress,
    readmittedAt: line.readmitted_at === null ? null : Date.parse(line.readmitted_at),
    ...NOTHING_REMOVED,
  };
  return { kind: "erasure", record: { erasure, identifiers } };
}
