import type { Database } from "../../core/database.js";
import { identifierOf } from "../../core/event/event.js";
import type { IdentifierKey } from "../../core/ids.js";
import type { ReadSet } from "../../core/identity/model.js";
import { keyOf, seenWithOf, type Sight } from "./encoding.js";

/** Only this many of an identifier's newest links are read on each side: a step must not wait for a giant. */
const SCANNED_MAX = 1_000;

/** Neighbours of a row on one side, of the namespaces in a JSON list. */
const neighbours = (own: "a" | "b", other: "a" | "b"): string => `
  SELECT i.key
  FROM (SELECT ${other} AS other, removed_at FROM links WHERE ${own} = ? ORDER BY ${other} DESC LIMIT ${SCANNED_MAX}) l
  JOIN identifiers i ON i.id = l.other
  WHERE l.removed_at IS NULL
    AND CAST(substr(i.key, 38, instr(substr(i.key, 38), X'3A') - 1) AS TEXT) IN (SELECT value FROM json_each(?))
  LIMIT ?`;

/** Adds to each identifier in sight the values of limited namespaces that it was sent with. */
export function prepareSeenWith(database: Database) {
  const stored = database.prepare("SELECT seen_with FROM identifiers WHERE id = ? AND seen_with IS NOT NULL");
  const sides = [database.prepare(neighbours("a", "b")), database.prepare(neighbours("b", "a"))];

  return (sight: Sight, { limited, seenWithMax }: NonNullable<ReadSet["rules"]>): void => {
    const [namespaces, list] = [new Set(limited), JSON.stringify(limited)];
    for (const [key, seen] of sight.identifiers) {
      const row = sight.rowIds.get(key)!;
      const seenWith = new Set(storedOf(stored.get([row])).filter((one) => namespaces.has(namespaceOf(one))));
      const linkedMax = hasLimited(sight, key, namespaces) ? seenWithMax : 0;
      for (const side of sides) {
        if (seenWith.size >= linkedMax) break;
        for (const [blob] of side.all([row, list, seenWithMax])) seenWith.add(keyOf(blob as Buffer));
      }
      if (seenWith.size > 0) sight.identifiers.set(key, { ...seen, seenWith: [...seenWith].slice(0, seenWithMax) });
    }
  };
}

const storedOf = (row: readonly unknown[] | undefined): readonly IdentifierKey[] =>
  seenWithOf((row?.[0] ?? null) as Buffer | null);

const namespaceOf = (key: IdentifierKey): string => identifierOf(key).namespace;

/** Whether its profile holds any value of these namespaces beside itself: most hold none, and their links need no look. */
function hasLimited(sight: Sight, key: IdentifierKey, namespaces: ReadonlySet<string>): boolean {
  const { counts } = sight.components.get(sight.identifiers.get(key)!.component)!;
  let held = namespaces.has(namespaceOf(key)) ? -1 : 0;
  for (const namespace of namespaces) held += counts.get(namespace) ?? 0;
  return held > 0;
}
