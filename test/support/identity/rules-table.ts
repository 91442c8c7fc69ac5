import assert from "node:assert/strict";
import { identifierOf } from "../../../core/event/event.js";
import type { IdentifierKey } from "../../../core/ids.js";
import {
  pairKey,
  type Outcome,
  type Plan,
  type Rules,
  type SeenWithPlan,
  type AssertResult,
} from "../../../core/identity/model.js";
import { EMPTY_PLAN } from "../../../graph/rules/working-state.js";
import { decide } from "../../../graph/rules/assert.js";
import {
  keyOf,
  nameOf,
  namesOf,
  pairOf,
  pairsOf,
  snapshotOf,
  requestOf,
  uidOf,
  type Asker,
  type Names,
  type World,
} from "../house/pictures.js";

/** What a request says in a world, and what must come of it. */
export interface Row {
  readonly says: string;
  readonly world?: World;
  readonly asks: readonly [Asker, Names];
  readonly at?: number;
  readonly outcome: Outcome;
  /** Those that are linked; of a refusal none. */
  readonly kept: Names;
  /** `d:tab limit`, one after the other. */
  readonly dropped?: readonly string[];
  /** Of a refusal. */
  readonly rule?: string;
  /** `d:kiosk +u:1 u:2 shared_identifier`: what is noted of it. */
  readonly seenWith?: readonly string[];
}

function check(row: Row, rules: Rules): void {
  const snapshot = snapshotOf(row.world ?? {});
  const request = requestOf(row.asks[0], row.asks[1], row.at);
  const { plan, results } = decide(snapshot, [request], rules);
  const result = results[0]!;
  const dropped = result.dropped.map(({ identifier, rule }) => `${nameOf(identifier)} ${rule}`);
  assert.deepEqual(
    { outcome: result.outcome, dropped, rule: result.rule },
    { outcome: row.outcome, dropped: row.dropped ?? [], rule: row.rule ?? null },
  );
  const kept = namesOf(row.kept);
  checkPlan(plan ?? EMPTY_PLAN, kept, row.world ?? {});
  checkProfile(result, kept, row.world ?? {});
  checkRecord(plan, result, row);
  assert.deepEqual((plan ?? EMPTY_PLAN).seenWith.map(showTouch), row.seenWith ?? []);
}

const nameAt = (key: SeenWithPlan["seenWith"][number]): string => nameOf(identifierOf(key as IdentifierKey));
const showTouch = ({ key, seenWith, isShared }: SeenWithPlan): string =>
  `${nameAt(key)} +${seenWith.map(nameAt).join(" ")}${isShared ? " shared_identifier" : ""}`;

const isSeen = ({ profiles = [] }: World, name: string): boolean => profiles.flatMap(namesOf).includes(name);

/** Those kept are created where they are new, and linked where they are not; nobody else is touched. */
function checkPlan({ creates, links }: Plan, kept: readonly string[], world: World): void {
  const { linked, removed } = snapshotOf(world);
  const sorted = (list: readonly string[]) => list.toSorted();
  const news = kept.filter((name) => !isSeen(world, name));
  assert.deepEqual(sorted(creates.map(({ key }) => key)), sorted(news.map(keyOf)));
  const wanted = pairsOf(kept)
    .map(pairOf)
    .filter((pair) => !linked.has(pair));
  assert.deepEqual(sorted(links.map(({ from, to }) => pairKey(from, to))), sorted(wanted));
  for (const { from, to, revives } of links) assert.equal(revives, removed.has(pairKey(from, to)));
}

function checkProfile(result: AssertResult, kept: readonly string[], world: World): void {
  const profiles = (world.profiles ?? []).map(namesOf);
  const seenWith = profiles.filter((names) => names.some((name) => kept.includes(name)));
  const members = [...new Set([...seenWith.flat(), ...kept])];
  const smallest = (names: readonly string[]): string | null => names.map(uidOf).toSorted()[0] ?? null;
  assert.equal(result.profileId, smallest(members));
  const retired = seenWith.map((names) => String(smallest(names))).filter((id) => id !== result.profileId);
  assert.deepEqual(result.mergedProfileIds, retired.toSorted());
  if (result.profileId !== null)
    assert.deepEqual(result.after, [{ profileId: result.profileId, size: members.length }]);
}

/** Who asked to link is told what was dropped or refused, for ever; an event that writes nothing leaves no record. */
function checkRecord(
  plan: Plan | null,
  { changeId, outcome, dropped, rule }: AssertResult,
  { asks: [asker] }: Row,
): void {
  const { creates, links, changes } = plan ?? EMPTY_PLAN;
  const isTold = asker !== "event" && asker !== "page" && outcome !== "unchanged";
  const isLeft = creates.length > 0 || links.length > 0 || isTold;
  assert.deepEqual(
    changes.map((change) => [change.changeId, change.outcome, change.dropped, change.rule]),
    isLeft ? [[changeId, outcome, dropped, rule]] : [],
  );
  assert.equal(changeId !== null, isLeft);
}

export function table(title: string, rules: Rules, rows: readonly Row[]): void {
  describe(title, () => {
    for (const row of rows)
      it(`${row.asks[0]} ${row.asks[1]}: ${row.says}`, () => {
        check(row, rules);
      });
  });
}
