import type { IdentifierKey, WorkspaceId } from "../core/ids.js";
import type { Component, PairKey, Picture, SeenComponent, SeenIdentifier, Summary } from "../core/identity.js";

/** A picture with the rows behind it. */
export interface Sight extends Picture {
  /** Those that a step creates join them as they are written. */
  readonly rowIds: Map<IdentifierKey, number>;
  readonly identifiers: Map<IdentifierKey, SeenIdentifier & { readonly component: number }>;
  readonly components: Map<Component, SeenComponent>;
  readonly linked: Set<PairKey>;
  readonly removed: Map<PairKey, number>;
}

/** A key holds what a client chose. */
export const keyBlob = (key: IdentifierKey): Buffer => Buffer.from(key);
export const keyOf = (blob: Buffer): IdentifierKey => blob.toString() as IdentifierKey;
/** What the keys of a workspace begin with. */
export const keyPrefix = (workspace: WorkspaceId): string => `${workspace}:`;

/** A summary as its columns hold it: `user_id,email=2`, since no namespace holds these signs and most have one value. */
export function countsText({ counts }: Summary): string {
  let text = "";
  for (const [namespace, count] of counts) text += `${text && ","}${namespace}${count === 1 ? "" : `=${count}`}`;
  return text;
}
export const countsOf = (text: string): Summary["counts"] =>
  new Map(
    text.split(",").map((one) => {
      const [namespace, count] = one.split("=");
      return [namespace!, Number(count ?? 1)];
    }),
  );
export const neverText = ({ never }: Summary): string | null => (never.length === 0 ? null : JSON.stringify(never));
export const neverOf = (text: string | null): Summary["never"] =>
  text === null ? [] : (JSON.parse(text) as Summary["never"]);

export const touchedBlob = (keys: Iterable<IdentifierKey>): Buffer => Buffer.from(JSON.stringify([...keys]));
export const touchedOf = (blob: Buffer | null): readonly IdentifierKey[] =>
  blob === null ? [] : (JSON.parse(blob.toString()) as readonly IdentifierKey[]);
