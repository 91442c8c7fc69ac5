import assert from "node:assert/strict";
import { at, listAt, textAt } from "../service/app.js";
import { isShared } from "../trust/assertions.js";
import { nameOf, pairName } from "../trust/model.js";
import { checkAudiences } from "./audiences/checks.js";
import { isTooDeep, looksTooFar, referring, ruleIn } from "./audiences/model.js";
import { untilAtRest } from "./audiences/rest.js";
import { ask, nameIn, pages, postPages, type Bench } from "./bench.js";
import { alignChanges } from "./changes.js";
import { IDENTIFIERS } from "./draw.js";
import { checkErasures } from "./erase.js";
import { effectiveOf, inOrder, type ShownProfile } from "./profile.js";
import { holds } from "./rule.js";
import { listProfiles, ruleEvents, standing, standsIn, type Rest } from "./standing.js";
import { nowOf, saidBy, type TrueEvent } from "./truth.js";

/** Compares all that can be read with what must be true. Throws at the first difference. */
export async function checkAll(bench: Bench, rules: readonly object[]): Promise<void> {
  await untilAtRest(bench);
  const listed = await listProfiles(bench);
  const rest = await standsIn(bench, listed);
  assert.deepEqual(listed, rest.profiles, "the list of profiles");
  await checkLookup(bench, rest);
  for (const profile of rest.profiles) await checkTimeline(bench, rest, profile);
  for (const rule of rules) await checkSearch(bench, rest, rule);
  for (const trait of ["city", "spent", "tags"]) await checkTop(bench, rest, trait);
  await checkAudiences(bench, rest.profiles);
  await checkLists(bench);
  await checkErasures(bench);
  await alignChanges(bench);
}

async function checkLookup(bench: Bench, { profiles, placeOf }: Rest): Promise<void> {
  const { body } = await ask(bench, 200, "POST", "/v1/profiles/lookup", { identifiers: IDENTIFIERS });
  const found = listAt(body, "profiles") as readonly (ShownProfile & { readonly matched: unknown })[];
  const expected = profiles.flatMap((profile) => {
    const matched = IDENTIFIERS.filter((one) => placeOf.get(nameOf(one))?.profileId === profile.profile_id);
    return matched.length === 0 ? [] : [{ ...profile, matched }];
  });
  const byId = (a: ShownProfile, b: ShownProfile): number => (a.profile_id < b.profile_id ? -1 : 1);
  assert.deepEqual(found.toSorted(byId), expected, "look-up");
  assert.deepEqual(
    listAt(body, "unknown"),
    IDENTIFIERS.filter((one) => !placeOf.has(nameOf(one))),
  );
}

/** Newest first. */
async function checkTimeline(bench: Bench, { receivedAt }: Rest, profile: ShownProfile): Promise<void> {
  const listed = await pages(bench, `/v1/profiles/${profile.profile_id}/events`, "events", 7);
  const order = (event: TrueEvent): string => `${effectiveOf(saidBy(event, receivedAt))} ${event.eventId}`;
  const expected = standing(bench, profile).toSorted((a, b) => (order(a) > order(b) ? -1 : 1));
  assert.deepEqual(
    listed.map((one) => textAt(one, "event_id")),
    expected.map(({ eventId }) => eventId),
    "timeline",
  );
}

async function checkSearch(bench: Bench, rest: Rest, drawn: object): Promise<void> {
  const { audiences } = bench.truth;
  const rule = referring(bench.ruleHere(drawn), audiences);
  if (isTooDeep(audiences, rule)) return void (await ask(bench, 422, "POST", "/v1/profiles/search", { rule }));
  const answers = await postPages(bench, "/v1/profiles/search", { rule, limit: 2 });
  const now = nowOf(bench.truth);
  const expected = rest.profiles.filter((profile) => {
    const events = ruleEvents(bench, profile, rest.receivedAt);
    return holds(rule, { profile, events, now, ruleOf: ruleIn(audiences) });
  });
  bench.counts.add("search", expected.length === 0 ? "none" : expected.length < rest.profiles.length ? "some" : "all");
  const shown = JSON.stringify(rule);
  assert.deepEqual(
    answers.flatMap(({ body }) => listAt(body, "profiles")),
    expected,
    `search ${shown}`,
  );
  const counted = await postPages(bench, "/v1/profiles/count", { rule });
  assert.equal(
    counted.reduce((sum, { body }) => sum + Number(body["count"]), 0),
    expected.length,
    `count ${shown}`,
  );
  await checkPreview(bench, rest, rule, expected);
}

/** All are looked at, so it is a count. */
async function checkPreview(
  bench: Bench,
  { profiles }: Rest,
  rule: object,
  expected: readonly ShownProfile[],
): Promise<void> {
  const isRefused = looksTooFar(rule, bench.truth.kept);
  const { body } = await ask(bench, isRefused ? 422 : 200, "POST", "/v1/audiences/preview", { rule, sample: 3 });
  if (isRefused) return assert.equal(body["code"], "window_exceeds_retention");
  const size = expected.length;
  const { count, low, high, exact, profiles: all } = body;
  assert.deepEqual(
    { count, low, high, exact, all },
    { count: size, low: size, high: size, exact: true, all: profiles.length },
    `preview ${JSON.stringify(rule)}`,
  );
  const sample = listAt(body, "sample") as readonly ShownProfile[];
  assert.equal(sample.length, Math.min(3, size));
  for (const one of sample)
    assert.deepEqual(
      one,
      expected.find(({ profile_id }) => profile_id === one.profile_id),
      "a sample",
    );
}

async function checkTop(bench: Bench, { profiles }: Rest, trait: string): Promise<void> {
  const { body } = (await postPages(bench, "/v1/profiles/top", { trait, limit: 2 })).at(-1)!;
  const valueOf = ({ traits }: ShownProfile) => {
    const value = traits[trait];
    return (Array.isArray(value) ? value[0] : (value ?? null)) as string | number | null;
  };
  const ranked = profiles
    .filter((profile) => valueOf(profile) !== null)
    .toSorted((a, b) => inOrder(valueOf(b), valueOf(a)) || (a.profile_id < b.profile_id ? -1 : 1));
  assert.deepEqual([body["profiles"], body["exact"]], [ranked.slice(0, 2), true], `top ${trait}`);
}

async function checkLists(bench: Bench): Promise<void> {
  const { trust } = bench.truth;
  const pairs = await pages(bench, "/v1/identity/forbidden-pairs", "forbidden_pairs", 2);
  assert.deepEqual(
    pairs.map((one) => pairName([nameIn(at(one, "from")), nameIn(at(one, "to"))])).toSorted(),
    [...trust.forbiddenPairs.keys()].toSorted(),
    "forbidden pairs",
  );
  const shared = await pages(bench, "/v1/identity/shared-identifiers", "shared_identifiers", 2);
  assert.deepEqual(
    shared.map((one) => nameIn(at(one, "identifier") ?? one)).toSorted(),
    [...trust.sharedIdentifiers].filter((name) => isShared(trust, name)).toSorted(),
    "shared identifiers",
  );
}
