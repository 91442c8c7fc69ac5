import { useEffect } from "preact/hooks";
import { useMay, useMe } from "../state/session.js";
import { createStore, useStore } from "../state/store.js";
import { api, queryOf } from "./http.js";
import type { Key } from "./records.js";

interface Known {
  /** Whose session read them: another workspace has other keys. */
  readonly by: string;
  readonly names: ReadonlyMap<string, string>;
}

const known = createStore<Known>({ by: "", names: new Map() });
/** Ids for which the names were read already: one of a revoked key never gets a name. */
let sought = new Set<string>();

/** A page may show many keys: all of them share one reading. */
let reading: Promise<void> | null = null;

async function read(by: string): Promise<void> {
  const names = new Map<string, string>();
  let cursor: string | null = null;
  do {
    const page: { readonly keys: readonly Key[]; readonly next_cursor: string | null } = await api(
      "GET",
      `/v1/keys${queryOf({ limit: 100, cursor })}`,
    );
    for (const { key_id: id, name } of page.keys) if (name !== null) names.set(id, name);
    cursor = page.next_cursor;
  } while (cursor !== null);
  known.set({ by, names });
}

/** The name of a key; null if it has none, was revoked, or if the session may not list keys. */
export function useKeyName(id: string): string | null {
  const me = useMe().key.key_id;
  const mayList = useMay("owner");
  const { by, names } = useStore(known);
  const name = by === me ? (names.get(id) ?? null) : null;
  useEffect(() => {
    if (!mayList || name !== null) return;
    if (by !== me) sought = new Set();
    if (sought.has(id)) return;
    sought.add(id);
    reading ??= read(me)
      // Without the names, the ids say as much as before.
      .catch(() => {})
      .finally(() => {
        reading = null;
      });
  }, [id, me, mayList]);
  return name;
}
