import type { Identifier } from "./options.js";

/** What is printed may hold anything that a sender sent: it must not steer the terminal. */
export const plain = (text: string): string =>
  text.replaceAll(/[\p{Cc}\p{Cf}]/gu, (one) => `\\u${one.codePointAt(0)!.toString(16).padStart(4, "0")}`);

export const showIdentifier = ({ namespace, value }: Identifier): string => plain(`${namespace}:${value}`);

/** In a record of a change: of one that was erased only the namespace is left. */
export type ChangedIdentifier = Identifier | { readonly namespace: string; readonly erased: true };

export const showChanged = (one: ChangedIdentifier): string =>
  "erased" in one ? `${plain(one.namespace)} (erased)` : showIdentifier(one);

/** A link between two identifiers, and what it rests on. */
export interface Link {
  readonly from: Identifier;
  readonly to: Identifier;
  readonly source: string;
  readonly event_id: string | null;
  readonly change_id: string;
  readonly at: string;
}

export const showPair = ({ from, to }: Pick<Link, "from" | "to">): string =>
  `${showIdentifier(from)} -- ${showIdentifier(to)}`;

export function showLink(link: Link): string {
  const { source, event_id: event, change_id: change, at } = link;
  return `${showPair(link)}: ${event === null ? source : `event ${event}`}, ${at}, change ${change}`;
}

/** Below a list of links of which the service tells the beginning. */
export const GOES_ON = "  (there are more links than are shown)";

export const count = (many: number, what: string): string =>
  `${many.toLocaleString("en-US")} ${what}${many === 1 ? "" : "s"}`;

/** Columns as wide as their widest cell. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]!.length))) ?? [];
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
