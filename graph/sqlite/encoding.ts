import type { ChangeId, IdentifierKey, Uid, WorkspaceId } from "../../core/ids.js";
import type { Tombstone } from "../../core/identity/tombstone.js";
import type { Component, PairKey, Summary, HiddenKey, UnlinkMark } from "../../core/identity/model.js";
import type { RemovedLink, Snapshot, SeenComponent, SeenIdentifier } from "../../core/identity/snapshot.js";

/** A snapshot with the rows behind it. */
export interface RowSnapshot extends Snapshot {
  /** Includes those that a step creates, once they are written. */
  readonly rowIds: Map<IdentifierKey, number>;
  readonly identifiers: Map<IdentifierKey, SeenIdentifier & { readonly component: number }>;
  readonly components: Map<Component, SeenComponent>;
  readonly linked: Set<PairKey>;
  readonly removed: Map<PairKey, RemovedLink>;
  readonly tombstones: Map<IdentifierKey, Tombstone>;
  /** Whether the workspace has any erasures. */
  readonly hasErasures: boolean;
  /** Members of a sealed component that still have their keys. */
  readonly sealed: Map<IdentifierKey, SealedRow>;
}

export interface SealedRow {
  readonly row: number;
  readonly uid: Uid;
  readonly component: number;
}

/** Of a sealed component it is negative. */
export const isSealed = (size: number): boolean => size < 0;

/** A key holds what a client chose. */
export const keyBlob = (key: IdentifierKey): Buffer => Buffer.from(key);
export const keyOf = (blob: Buffer): IdentifierKey => blob.toString() as IdentifierKey;
/** What the keys of a workspace begin with. */
export const keyPrefix = (workspace: WorkspaceId): string => `${workspace}:`;

/** A change's id as its row has it: 16 bytes, which compare as its text does. */
export const changeBytes = (changeId: ChangeId): Buffer => Buffer.from(changeId.replaceAll("-", ""), "hex");
/** Where a page of older changes begins: after that one, or after all. */
export const bytesBefore = (changeId: ChangeId | null): Buffer =>
  changeId === null ? Buffer.alloc(17, 0xff) : changeBytes(changeId);
/** Of hexadecimal digits: what SQL's `hex` makes of the bytes. */
export const changeIdOf = (hex: string): ChangeId => {
  const id = hex.toLowerCase();
  return `${id.slice(0, 8)}-${id.slice(8, 12)}-${id.slice(12, 16)}-${id.slice(16, 20)}-${id.slice(20)}` as ChangeId;
};

/** A summary as its columns hold it: `user_id,email=2`, since no namespace holds these signs and most have one value. */
export function countsText({ counts }: Summary): string {
  let text = "";
  for (const [namespace, count] of counts) text += `${text && ","}${namespace}${count === 1 ? "" : `=${count}`}`;
  return text;
}
export const countsOf = (text: string): Summary["counts"] =>
  new Map(
    (text === "" ? [] : text.split(",")).map((one) => {
      const [namespace, count] = one.split("=");
      return [namespace!, Number(count ?? 1)];
    }),
  );
export const forbiddenText = ({ forbidden }: Summary): string | null =>
  forbidden.length === 0 ? null : JSON.stringify(forbidden);
export const forbiddenOf = (text: string | null): Summary["forbidden"] =>
  text === null ? [] : (JSON.parse(text) as Summary["forbidden"]);

/** The marks of an identifier's unlinks, the latest first, as its three columns hold them. */
export type MarkColumns = readonly [at: number | null, by: Buffer | null, before: string | null];
export const markColumns = ([latest, ...before]: readonly UnlinkMark[]): MarkColumns =>
  latest === undefined
    ? [null, null, null]
    : [latest.at, changeBytes(latest.by), before.length === 0 ? null : JSON.stringify(before)];
export const marksOf = ([at, by, before]: MarkColumns): readonly UnlinkMark[] =>
  at === null || by === null
    ? []
    : [
        { at, by: changeIdOf(by.toString("hex")) },
        ...(before === null ? [] : (JSON.parse(before) as readonly UnlinkMark[])),
      ];

export const seenWithBlob = (keys: Iterable<HiddenKey>): Buffer => Buffer.from(JSON.stringify([...keys]));
export const seenWithOf = (blob: Buffer | null): readonly HiddenKey[] =>
  blob === null ? [] : (JSON.parse(blob.toString()) as readonly HiddenKey[]);
