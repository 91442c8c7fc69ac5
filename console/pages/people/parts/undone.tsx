import type { JSX } from "preact";
import { useAnswer } from "../../../api/answer.js";
import { api, queryOf } from "../../../api/http.js";
import { ChangeLink } from "./evidence.js";
import type { Change } from "./records.js";

/** Of all that was reverted since, newest first, so much is looked at. */
const REVERTS_MAX = 1_000;

interface Undone {
  /** The newest change that undid it; null: none did. */
  readonly by: string | null;
}

async function findRevert(id: string, signal: AbortSignal): Promise<Undone> {
  let cursor: string | null = null;
  for (let seen = 0; seen < REVERTS_MAX;) {
    const path = `/v1/changes${queryOf({ outcome: "reverted", limit: 100, cursor })}`;
    const page: { readonly changes: readonly Change[]; readonly next_cursor: string | null } = await api(
      "GET",
      path,
      undefined,
      { signal },
    );
    const found = page.changes.find(({ reverts }) => reverts === id);
    if (found !== undefined) return { by: found.change_id };
    cursor = page.next_cursor;
    // A page of large ones has few.
    seen += page.changes.length;
    // An id begins with its time: what is older than the change did not undo it.
    if (cursor === null || (page.changes.at(-1)?.change_id ?? id) < id) return { by: null };
  }
  throw new Error("Too much was reverted since to look at all of it.");
}

/** Whether a change was undone, by which one; in a line, so that nothing moves when it is known. */
export function UndoneBy({ id }: { readonly id: string }): JSX.Element {
  const { data, error } = useAnswer(id, (signal) => findRevert(id.toLowerCase(), signal));
  if (data === null) return <span class="soft">{error === null ? "…" : "not known"}</span>;
  return data.by === null ? <span class="soft">not undone, or only in part</span> : <ChangeLink id={data.by} />;
}
