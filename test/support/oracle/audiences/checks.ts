import assert from "node:assert/strict";
import { at, listAt } from "../../service/app.js";
import { ask, pages, type Bench } from "../bench.js";
import type { ShownProfile } from "../profile.js";
import { nowOf } from "../truth.js";
import { apply, type FeedEntry, type Seated } from "./feed-log.js";
import { readToHead } from "./read.js";

const FEED_DAYS = 30;
const DAY_MS = 86_400_000;

/** At rest: the records, the members, the feed and what it adds up to. `profiles`: all that stand. */
export async function checkAudiences(bench: Bench, profiles: readonly ShownProfile[]): Promise<void> {
  const { truth, feed, counts } = bench;
  await readToHead(bench);
  const membersOf = (audienceId: string) =>
    profiles
      .filter(({ audiences }) => audiences.some((one) => at(one, "audience_id") === audienceId))
      .map(({ profile_id }) => profile_id);
  const records = await pages(bench, "/v1/audiences", "audiences", 2);
  assert.deepEqual(
    records.map((one) => ({ ...(one as object), created_at: null })),
    truth.audiences.map(({ audienceId, name, rule, version }) => ({
      audience_id: audienceId,
      name,
      rule,
      version,
      state: "live",
      size: membersOf(audienceId).length,
      as_of_seq: feed.entries.length,
      created_at: null,
    })),
    "audiences",
  );
  for (const { audienceId } of truth.audiences) {
    const size = membersOf(audienceId).length;
    counts.add("audience at rest", size === 0 ? "empty" : size < profiles.length ? "some" : "all");
    const seated = feed.seated.get(audienceId) ?? new Map<string, string>();
    const listed = await pages(bench, `/v1/audiences/${audienceId}/members`, "members", 3);
    assert.deepEqual(
      listed,
      membersOf(audienceId).map((profile_id) => ({ profile_id, since: seated.get(profile_id) ?? "never entered" })),
      `members of ${audienceId}`,
    );
    assert.equal(seated.size, size, `the feed adds up to the members of ${audienceId}`);
  }
  checkCopies(bench);
  await checkFeed(bench);
}

/** Each, followed by the feed after its number, has become what stands. */
function checkCopies({ truth, feed, copies, counts }: Bench): void {
  for (const { audienceId, asOf, members } of copies.splice(0)) {
    const seated: Seated = new Map([[audienceId, new Map(members.map((one) => [one.profile_id, one.since]))]]);
    for (const entry of feed.entries.slice(asOf)) apply(seated, entry);
    const isGone = !truth.audiences.some((one) => one.audienceId === audienceId);
    const wanted = isGone ? undefined : (feed.seated.get(audienceId) ?? new Map());
    const idsIn = (map: ReadonlyMap<string, string> | undefined) => map && [...map.keys()].toSorted();
    assert.deepEqual(idsIn(seated.get(audienceId)), idsIn(wanted), `what became of a copy as of ${asOf}`);
    counts.add("copy", members.length === 0 ? "of none" : feed.entries.length === asOf ? "whole" : "followed");
  }
}

/** All that is kept can be read again, and nothing that is young went. */
async function checkFeed(bench: Bench): Promise<void> {
  const { truth, feed, counts, random } = bench;
  const { entries } = feed;
  for (const { type, cause } of entries.slice(bench.told.entries)) counts.add(`feed ${type}`, cause ?? "told");
  bench.told.entries = entries.length;
  const ends = (type: FeedEntry["type"], id: "audience_id" | "profile_id"): readonly string[] =>
    entries.filter((one) => one.type === type).map((one) => one[id]!);
  assert.deepEqual(ends("audience_deleted", "audience_id").toSorted(), truth.disbanded.toSorted(), "deleted audiences");
  assert.deepEqual(ends("profile_erased", "profile_id").toSorted(), truth.erasedIds.toSorted(), "erased profiles");
  const { audienceId } = truth.audiences[random.below(Math.max(1, truth.audiences.length))] ?? { audienceId: null };
  const { oldest, kept } = await readKept(bench, audienceId === null ? "" : `&audience_id=${audienceId}`);
  const isYoung = ({ at: time }: FeedEntry): boolean => Date.parse(time) > nowOf(truth) - FEED_DAYS * DAY_MS;
  assert.ok(oldest <= (entries.find(isYoung)?.seq ?? entries.length + 1), `the feed begins at ${oldest}`);
  const isAsked = (one: FeedEntry): boolean =>
    audienceId === null || one.type === "profile_erased" || one.audience_id === audienceId;
  assert.deepEqual(kept, entries.slice(oldest - 1).filter(isAsked), "the feed again");
  const { body: beyond } = await ask(bench, 409, "GET", `/v1/feed?after=${entries.length + 1}`);
  assert.equal(beyond["code"], "unknown_position");
  if (oldest === 1) return;
  const { body: trimmed } = await ask(bench, 410, "GET", "/v1/feed?after=0");
  assert.equal(trimmed["code"], "feed_trimmed");
  assert.ok(Number(trimmed["oldest"]) >= oldest);
  counts.add("feed", "trimmed");
}

/** All that is kept of one audience, and the number it begins at. It may be trimmed between two requests, and then both are made anew. */
async function readKept(bench: Bench, query: string): Promise<{ oldest: number; kept: readonly unknown[] }> {
  for (;;) {
    const { body: asked } = await ask(bench, 200, "GET", `/v1/feed?after=${bench.feed.entries.length}`);
    const oldest = Number(asked["oldest"]);
    const { status, body, text } = await bench.send("GET", `/v1/feed?after=${oldest - 1}&limit=1000${query}`);
    if (status === 410 && Number(body["oldest"]) > oldest) continue;
    assert.equal(status, 200, text);
    return { oldest, kept: listAt(body, "entries") };
  }
}
