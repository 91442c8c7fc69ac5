import assert from "node:assert/strict";
import { at, listAt, textAt, until, type Answer } from "../service/app.js";
import { nameOf, namespaceOf, type Name } from "../trust/model.js";
import { untilAtRest } from "./audiences/rest.js";
import { ask, pages, type Bench } from "./bench.js";
import { IDENTIFIERS } from "./draw.js";
import { goingWith, tombOf, type TrueErasure } from "./erasures.js";
import type { ShownProfile } from "./profile.js";
import type { StepOf } from "./program.js";
import type { Done } from "./send.js";
import { erase, takeWaiting } from "./truth.js";

const done = (apply: Done["apply"] = () => undefined): Done => ({ eventIds: [], apply });

/** All of the profile that it is in, by its id or by the identifier; or the identifier alone, for the future. */
export async function eraseOne(bench: Bench, { who, byId, suppress, dryRun }: StepOf<"erase">): Promise<Done> {
  const { truth, counts, place } = bench;
  const names = goingWith(truth, who);
  const isKnown = truth.trust.seen.has(nameOf(who));
  // At rest its seat is what a read shows.
  if (isKnown) await untilAtRest(bench);
  const profile = isKnown ? await profileOf(bench, who) : null;
  const profileId = profile?.profile_id ?? null;
  const query = dryRun ? "?dry_run=true" : "";
  const answer =
    byId && profileId !== null
      ? await bench.send("DELETE", `/v1/profiles/${profileId}${dryRun ? "?dry_run=true&" : "?"}suppress=${suppress}`)
      : await bench.send("POST", `/v1/erasures${query}`, { identifiers: [who], suppress });
  const standing = isKnown ? null : tombOf(truth, nameOf(who));
  if (dryRun) {
    assert.equal(answer.status, 200, answer.text);
    counts.add("erase dry run", isKnown ? "a profile" : "nobody yet");
    assert.deepEqual(answer.body["identifiers"], countsOf(standing?.erasure.names ?? names));
    assert.equal(answer.body["erased_by"], standing?.erasure.erasureId);
    return done();
  }
  assert.equal(answer.status, 202, answer.text);
  await place.rest();
  if (profileId !== null) await ask(bench, 404, "GET", `/v1/profiles/${profileId}`);
  return done(() => {
    const erasureId = textAt(answer.body, "erasure_id");
    if (standing !== null) {
      assert.equal(erasureId, standing.erasure.erasureId, "the same receipt");
      if (suppress) standing.erasure.isSuppressed = true;
      standing.erasure.erasedAt = Date.parse(textAt(answer.body, "erased_at"));
      takeWaiting(truth, standing.erasure);
      return counts.add("erase", "the same again");
    }
    counts.add("erase", `${isKnown ? "a profile" : "nobody yet"}${suppress ? ", suppressed" : ""}`);
    if (profile !== null) truth.erasedIds.push(profile.profile_id);
    erase(truth, { ...erasureOf(erasureId, names, suppress, answer), memberships: profile?.audiences.length ?? 0 });
  });
}

const erasureOf = (
  erasureId: string,
  names: ReadonlySet<Name>,
  isSuppressed: boolean,
  { body }: Answer,
): Omit<TrueErasure, "memberships"> => ({
  erasureId,
  erasedAt: Date.parse(textAt(body, "erased_at")),
  names: new Set(names),
  isSuppressed,
  events: 0,
  late: 0,
});

function countsOf(names: ReadonlySet<Name>): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[namespaceOf(name)] = (counts[namespaceOf(name)] ?? 0) + 1;
  return counts;
}

async function profileOf(bench: Bench, who: object): Promise<ShownProfile> {
  const { body } = await ask(bench, 200, "POST", "/v1/profiles/lookup", { identifiers: [who] });
  return listAt(body, "profiles")[0] as ShownProfile;
}

/** `of` counts the erasures from the newest. */
export async function readmit(bench: Bench, { of }: StepOf<"readmit">): Promise<Done> {
  const { erasures } = bench.truth;
  const erasure = erasures[erasures.length - 1 - (of % Math.max(1, erasures.length))];
  if (erasure === undefined) {
    await ask(bench, 404, "POST", `/v1/erasures/${bench.workspace.id}/readmit`, {});
    bench.counts.add("readmit", "404");
    return done();
  }
  await ask(bench, 200, "POST", `/v1/erasures/${erasure.erasureId}/readmit`, {});
  bench.counts.add("readmit", erasure.isSuppressed ? "readmitted" : "was not suppressed");
  return done(() => {
    erasure.isSuppressed = false;
  });
}

/** The receipts, and which of them covers each identifier. */
export async function checkErasures(bench: Bench): Promise<void> {
  const { truth } = bench;
  if (truth.erasures.length === 0) return;
  // On a busy machine the last piece of one may come late.
  await until(
    () => bench.send("GET", "/v1/erasures?limit=100"),
    ({ body }) => listAt(body, "erasures").every((one) => at(one, "status") === "completed"),
  );
  const listed = (await pages(bench, "/v1/erasures", "erasures", 2)).toReversed();
  const shown = listed.map((one) => ({
    id: textAt(one, "erasure_id"),
    status: at(one, "status"),
    identifiers: at(one, "identifiers"),
    events: at(one, "removed.events"),
    memberships: at(one, "removed.memberships"),
    late: at(one, "late.events"),
  }));
  assert.deepEqual(
    shown,
    truth.erasures.map(({ erasureId, names, events, memberships, late }) => ({
      id: erasureId,
      status: "completed",
      identifiers: countsOf(names),
      events,
      memberships,
      late,
    })),
    "receipts",
  );
  const { body } = await ask(bench, 200, "POST", "/v1/erasures/check", { identifiers: IDENTIFIERS });
  assert.deepEqual(
    listAt(body, "identifiers").map((one) => [at(one, "erasure_id"), at(one, "suppressed"), at(one, "in_profile")]),
    IDENTIFIERS.map((one) => {
      const tomb = tombOf(truth, nameOf(one));
      return [tomb?.erasure.erasureId ?? null, tomb?.isSuppressed ?? false, truth.trust.seen.has(nameOf(one))];
    }),
    "which erasure covers whom",
  );
}
