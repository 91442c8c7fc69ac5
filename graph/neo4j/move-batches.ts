import type { Uid } from "../../core/ids.js";
import type { PartPlan } from "../../core/identity/model.js";

/** The members that go to a part. */
export interface Leave {
  readonly part: Uid;
  readonly uids: readonly Uid[];
}

/** Batches of at most this many identifiers: of one large part, or of thousands of single ones. */
export function* leavesOf(
  parts: readonly Pick<PartPlan, "profileId" | "members">[],
  max: number,
): Generator<readonly Leave[]> {
  let leaves: Leave[] = [];
  let room = max;
  for (const { profileId, members } of parts)
    for (let from = 0; from < members.length;) {
      const uids = members.slice(from, from + room);
      leaves.push({ part: profileId, uids });
      from += uids.length;
      room -= uids.length;
      if (room > 0) continue;
      yield leaves;
      [leaves, room] = [[], max];
    }
  if (leaves.length > 0) yield leaves;
}
