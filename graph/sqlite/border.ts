import type { Database } from "../../core/database.js";
import type { IdentifierKey, Uid, WorkspaceId } from "../../core/ids.js";
import type { Component } from "../../core/identity/model.js";
import type { Border, BorderLink } from "../../core/identity/step.js";
import { keyOf } from "./encoding.js";
import { prepareFindLocation } from "./locations.js";

/** What leads out of sets of identifiers. It costs the sets and their links, however large the profile is. */
export function prepareBorder(database: Database) {
  const find = prepareFindLocation(database);
  const sides = (["a", "b"] as const).map((own) => {
    const far = own === "a" ? "b" : "a";
    return database.prepare(
      `SELECT i.id, i.uid, i.key FROM links l JOIN identifiers i ON i.id = l.${far}
       WHERE l.${own} = ? AND l.removed_at IS NULL`,
    );
  });
  const firstOutside = database.prepare(
    `SELECT uid FROM identifiers
     WHERE component = ? AND uid NOT IN (SELECT value FROM json_each(?)) ORDER BY uid LIMIT 1`,
  );

  return (workspace: WorkspaceId, sets: readonly (readonly IdentifierKey[])[]): Border => {
    const links: BorderLink[] = [];
    const inside = new Map<Component, Set<Uid>>();
    for (const [set, keys] of sets.entries()) {
      const members = new Map<number, Uid>();
      for (const key of keys) {
        const found = find(workspace, key);
        if (found === undefined) continue;
        const { row, uid, component } = found;
        members.set(row, uid);
        inside.set(component, (inside.get(component) ?? new Set()).add(uid));
      }
      for (const [id, fromUid] of members)
        for (const side of sides)
          for (const [far, uid, key] of side.all([id]) as readonly (readonly [number, Uid, Buffer])[])
            if (!members.has(far)) links.push({ set, fromUid, to: keyOf(key), uid });
    }
    const first = new Map<Component, Uid>();
    for (const [component, uids] of inside) {
      const row = firstOutside.get([component, JSON.stringify([...uids])]);
      if (row !== undefined) first.set(component, row[0] as Uid);
    }
    return { links, firstOutside: first };
  };
}
