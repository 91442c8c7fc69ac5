import assert from "node:assert/strict";
import { at, listAt, textAt } from "../../service/app.js";
import { ask, type Bench } from "../bench.js";
import { IDENTIFIERS } from "../draw.js";
import type { ShownProfile } from "../profile.js";
import { holds } from "../rule.js";
import { nowOf } from "../truth.js";
import { append, type Copy, type FeedEntry } from "./feed-log.js";
import { looksAtEvents, ruleIn } from "./model.js";

const readings = new WeakMap<Bench, Promise<unknown>>();

/** A page of the feed behind what was read of it. Answers the head. One after the other: a step may read the feed while it is watched. */
export function readOn(bench: Bench, limit: number): Promise<number> {
  const reading = (readings.get(bench) ?? Promise.resolve()).then(() => readPage(bench, limit));
  readings.set(
    bench,
    reading.catch(() => {}),
  );
  return reading;
}

async function readPage(bench: Bench, limit: number): Promise<number> {
  const { feed } = bench;
  const after = feed.entries.length;
  const { body } = await ask(bench, 200, "GET", `/v1/feed?after=${after}&limit=${limit}`);
  const entries = listAt(body, "entries") as readonly FeedEntry[];
  assert.ok(entries.length <= limit);
  for (const entry of entries) append(feed, entry);
  assert.equal(body["next"], feed.entries.length, "where to read on");
  const head = Number(body["head"]);
  // It may be of a moment after that of the entries, and never of one before.
  assert.ok(head >= feed.entries.length, `the head ${head} is behind ${feed.entries.length}`);
  return head;
}

export async function readToHead(bench: Bench): Promise<void> {
  while ((await readOn(bench, 100)) > bench.feed.entries.length);
}

/** Null where the audience went meanwhile. */
export async function copyMembers(bench: Bench, audienceId: string): Promise<Copy | null> {
  const target = `/v1/audiences/${audienceId}/members`;
  const first = await bench.send("GET", `${target}?limit=1`);
  if (first.status === 404) return null;
  assert.equal(first.status, 200, first.text);
  const asOf = Number(at(first.body, "as_of_seq"));
  const members = [...(listAt(first.body, "members") as Copy["members"])];
  for (let cursor = first.body["next_cursor"]; typeof cursor === "string";) {
    const answer = await bench.send("GET", `${target}?limit=2&cursor=${cursor}`);
    if (answer.status === 404) return null;
    members.push(...(listAt(answer.body, "members") as Copy["members"]));
    cursor = answer.body["next_cursor"];
  }
  return { audienceId, asOf, members };
}

/**
 * Whatever is under way: the audiences of a profile are what the rules say of that answer. Of rules that hang on events the answer does
 * not tell enough, and none is compared that changes meanwhile.
 */
export async function lookAtAll(bench: Bench): Promise<void> {
  const { truth, turn } = bench;
  const [standing, began, nowBefore] = [[...truth.audiences], turn.begun, nowOf(truth)];
  if (turn.ended !== began) return;
  const { body } = await ask(bench, 200, "POST", "/v1/profiles/lookup", { identifiers: IDENTIFIERS });
  if (turn.begun !== began) return;
  const ruleOf = ruleIn(standing);
  for (const profile of listAt(body, "profiles") as readonly ShownProfile[])
    for (const { audienceId, rule } of standing) {
      if (looksAtEvents(standing, rule)) continue;
      const isShown = profile.audiences.some((one) => textAt(one, "audience_id") === audienceId);
      // The clock may have been moved in between.
      const wanted = [nowBefore, nowOf(truth)].map((now) => holds(rule, { profile, events: [], now, ruleOf }));
      assert.ok(wanted.includes(isShown), `${JSON.stringify(rule)} is ${!isShown} of ${JSON.stringify(profile)}`);
    }
  bench.counts.add("mid-way", "profiles looked at");
}

/** Reads beside the work until it is done, each kind of read in its turn. */
export async function readingBeside<T>(bench: Bench, work: () => Promise<T>): Promise<T> {
  const over = new AbortController();
  const read = async (): Promise<void> => {
    for (let n = 0; n < READS_MAX && !over.signal.aborted; n += 1) await READS[n % READS.length]!(bench);
  };
  const [done] = await Promise.all([work().finally(() => over.abort()), read()]);
  return done;
}

const READS_MAX = 9;
const COPIES_MAX = 4;
const READS: readonly ((bench: Bench) => Promise<void>)[] = [
  lookAtAll,
  async (bench) => {
    await readOn(bench, 3);
    bench.counts.add("mid-way", "page of the feed");
  },
  async (bench) => {
    const { truth, copies, counts } = bench;
    const audience = truth.audiences[copies.length % Math.max(1, truth.audiences.length)];
    if (audience === undefined || copies.length >= COPIES_MAX) return;
    const copy = await copyMembers(bench, audience.audienceId);
    if (copy === null) return;
    copies.push(copy);
    counts.add("mid-way", "members copied");
  },
];
