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

async function readNames(by: string): Promise<void> {
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

const NONE: Known["names"] = new Map();

/** The names of these keys; none of one that has none or was revoked, and none at all if the session may not list keys. */
export function useKeyNames(ids: readonly string[]): Known["names"] {
  const me = useMe().key.key_id;
  const mayList = useMay("owner");
  const { by, names: read } = useStore(known);
  const names = by === me ? read : NONE;
  useEffect(() => {
    if (!mayList) return;
    if (by !== me) sought = new Set();
    const missing = ids.filter((id) => !names.has(id) && !sought.has(id));
    if (missing.length === 0) return;
    for (const id of missing) sought.add(id);
    reading ??= readNames(me)
      // Without the names, the ids say as much as before.
      .catch(() => {})
      .finally(() => {
        reading = null;
      });
  }, [ids.join(" "), me, mayList]);
  return names;
}

export const useKeyName = (id: string): string | null => useKeyNames([id]).get(id) ?? null;
