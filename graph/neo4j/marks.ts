import type { ChangeId } from "../../core/ids.js";
import type { UnlinkMark } from "../../core/identity/model.js";
import { whole, type Parameters } from "./client.js";

/** The marks of an identifier's unlinks, the latest first, as its three properties hold them. */
export type MarkColumns = readonly [at: number | null, by: ChangeId | null, before: readonly string[] | null];

export const marksOf = ([at, by, before]: MarkColumns): readonly UnlinkMark[] =>
  at === null || by === null ? [] : [{ at, by }, ...(before ?? []).map(markOf)];

/** A list of properties holds texts and no maps. */
const textOf = ({ at, by }: UnlinkMark): string => `${at} ${by}`;
function markOf(text: string): UnlinkMark {
  const [at, by] = text.split(" ");
  return { at: Number(at), by: by as ChangeId };
}

/** Null where there are none: then a property goes. */
export const markParameters = ([latest, ...before]: readonly UnlinkMark[]): Parameters => ({
  at: latest === undefined ? null : whole(latest.at),
  change: latest?.by ?? null,
  before: before.length === 0 ? null : before.map(textOf),
});
