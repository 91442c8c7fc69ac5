import path from "node:path";

/** What an export is of, in the order in which an import takes it. */
export const KINDS = ["catalog", "profiles", "changes", "links", "events"] as const;
export type Kind = (typeof KINDS)[number];

export const fileOf = (folder: string, kind: Kind): string => path.join(folder, `${kind}.ndjson`);

/** The last line of a complete file. */
export interface End {
  readonly type: "end";
  readonly complete: boolean;
  readonly lines: number;
}

/** Null for any other line. */
export function endIn(line: Buffer | string): End | null {
  const text = line.toString();
  if (!text.startsWith('{"type":"end"')) return null;
  return JSON.parse(text) as End;
}
