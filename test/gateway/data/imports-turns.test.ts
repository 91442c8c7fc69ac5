import assert from "node:assert/strict";
import { readLine } from "../../../gateway/routes/data/read-lines.js";
import { useApp } from "../../support/service/app.js";
import { NDJSON } from "../../support/service/batch.js";

const LINES = 1_000;
const TRIES = 3;

/** The longest that the event loop was held while `work` went on, milliseconds. */
async function longestTurn(work: () => Promise<void>): Promise<number> {
  let [longest, last, isOver] = [0, performance.now(), false];
  const look = (): void => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  await work();
  isOver = true;
  return longest;
}

const uid = (n: number) => `0197a000-0000-7000-8000-${String(n).padStart(12, "0")}`;
const event = (n: number) => ({
  type: "event",
  position: "x",
  event_id: uid(n),
  status: "stored",
  schema_id: "s",
  schema_version: 1,
  timestamp: "2026-01-01T00:00:00Z",
  received_at: "2026-01-01T00:00:00.000Z",
  profile_id_then: null,
  dropped: [],
  reason: null,
  effective_ts: "2026-01-01T00:00:00.000000000Z",
  folds: false,
  identifiers: [],
  key_id: "k",
  fingerprint: null,
  facet: null,
  payload: { list: Array.from({ length: 1_700 }, (_, at) => at % 10) },
});

describe("The lines of a large import", () => {
  const app = useApp();

  it("are read in many turns of the event loop, so that others do not wait for all of them", async () => {
    const lines = Array.from({ length: LINES }, (_, n) => JSON.stringify(event(n)));
    const bytes = lines.map((line) => Buffer.from(line));
    const into = await app().workspace();
    const body = lines.join("\n");
    const shares: number[] = [];
    // Another process of the machine may hold one of them.
    for (let times = 0; times < TRIES; times += 1) {
      const begun = performance.now();
      for (const [n, line] of bytes.entries()) readLine(line, `lines.${n}`, Date.now());
      const all = performance.now() - begun;
      const longest = await longestTurn(async () => {
        const { status, text } = await into.send("POST", "/v1/imports/lines?dry_run=true", body, NDJSON);
        assert.deepEqual([status, text], [200, '{"stored":0,"left_out":0}']);
      });
      shares.push(longest / all);
    }
    assert.ok(Math.min(...shares) < 0.5, `${shares.map((share) => share.toFixed(2)).join(", ")} of all in one turn`);
  });

  it("are parsed once each: one line may be as long as all of them", () => {
    const line = Buffer.from(JSON.stringify(event(1)));
    const { parse } = JSON;
    let times = 0;
    JSON.parse = (...asked: Parameters<typeof parse>) => {
      times += 1;
      return parse(...asked) as unknown;
    };
    try {
      assert.equal(readLine(line, "lines.0", Date.now())?.kind, "event");
    } finally {
      JSON.parse = parse;
    }
    assert.equal(times, 1);
  });
});
