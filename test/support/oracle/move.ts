import assert from "node:assert/strict";
import { createFeedLog } from "./audiences/feed-log.js";
import { ask, type Bench } from "./bench.js";
import type { Done } from "./send.js";

const NOTHING: Done = { eventIds: [], apply: () => undefined };
/** As an import wants them. */
const KINDS = ["catalog", "profiles", "changes", "links", "events"] as const;
const LINES_MAX = 1_000;
const NDJSON = { "Content-Type": "application/x-ndjson" };

/** An id names one profile of an installation, so it goes to another one, and only once. Keys and Idempotency-Keys stay behind. */
export async function move(bench: Bench): Promise<Done> {
  const { place, truth, counts } = bench;
  // Tombstones are no lines: they come by the log of erasures, which stays with the secret of the installation.
  if (place.other === null || truth.erasures.length > 0) {
    counts.add("move", place.other === null ? "nowhere to go" : "not with tombstones");
    return NOTHING;
  }
  const lines: string[] = [];
  for (const kind of KINDS) {
    const { text } = await ask(bench, 200, "GET", `/v1/exports/${kind}`);
    const own = text.trimEnd().split("\n");
    assert.match(own.at(-1)!, /"type":"end","complete":true/, kind);
    lines.push(...own.slice(0, -1));
  }
  bench.place = place.other;
  bench.workspace = await place.other.app.workspace();
  place.ahead.set(bench.workspace.id, truth.ahead);
  await ask(bench, 200, "POST", "/v1/imports");
  // Some twice, as after a break.
  const times = bench.random.below(2) === 0 ? 1 : 2;
  for (let time = 0; time < times; time += 1)
    for (let from = 0; from < lines.length; from += LINES_MAX)
      await ask(bench, 200, "POST", "/v1/imports/lines", lines.slice(from, from + LINES_MAX).join("\n"), NDJSON);
  await ask(bench, 204, "DELETE", "/v1/imports");
  // The members of audiences are counted anew, and nobody is told of what was before.
  truth.disbanded.length = bench.copies.length = bench.told.entries = 0;
  bench.feed = createFeedLog();
  for (const [eventId, event] of truth.events) truth.events.set(eventId, { ...event, sent: null });
  counts.add("move", times === 1 ? "moved" : "moved, lines sent twice");
  return NOTHING;
}
