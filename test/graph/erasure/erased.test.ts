import assert from "node:assert/strict";
import { identifierKey, type Identifier } from "../../../core/event/event.js";
import type { ErasureId, EventId } from "../../../core/ids.js";
import { newId } from "../../../core/ids.js";
import type { Assertion, AssertResult, Rules } from "../../../core/identity/model.js";
import type { Snapshot } from "../../../core/identity/snapshot.js";
import type { Tombstone } from "../../../core/identity/tombstone.js";
import { decide, NO_RULES } from "../../../graph/rules/assert.js";
import { EMPTY_SNAPSHOT } from "../../../graph/rules/working-state.js";
import { aRequest, aWorkspace, EVIDENCE } from "../../support/identity/fixtures.js";

const ERASED_AT = 1_000;
const workspace = aWorkspace();
const RULES: Rules = { ...NO_RULES, isPerson: (namespace) => namespace !== "device_id" };

/** `u:ann` is a login, `e:a` an address, `d:tv` a device. */
const NAMESPACES: Readonly<Record<string, string>> = { u: "user_id", e: "email", d: "device_id" };
const named = (name: string): Identifier => ({ namespace: NAMESPACES[name[0]!]!, value: name.slice(2) });
const nameOf = ({ namespace, value }: Identifier): string => `${namespace[0]!}:${value}`;

interface Row {
  readonly title: string;
  /** In the order of acceptance, which the facet's identifier begins. */
  readonly names: string;
  readonly erased: string;
  /** In profiles, each alone. */
  readonly known?: string;
  readonly suppressed?: boolean;
  readonly source?: "identify" | "alias";
  readonly at?: number;
  readonly effectiveAt?: number;
  /** Nothing: it is refused. */
  readonly kept?: string;
  readonly rule?: "erased" | "suppressed";
}

const TABLE: readonly Row[] = [
  { title: "an older event of the erased is refused", names: "u:ann d:tv", erased: "u:ann d:tv", rule: "erased" },
  { title: "so is one of the very moment", names: "u:ann", erased: "u:ann", at: ERASED_AT, rule: "erased" },
  {
    title: "and one that happened before, sent again",
    names: "u:ann",
    erased: "u:ann",
    at: 2_000,
    effectiveAt: 900,
    rule: "erased",
  },
  {
    title: "and one that was received before and says it happened later",
    names: "u:ann",
    erased: "u:ann",
    at: 900,
    effectiveAt: 2_000,
    rule: "erased",
  },
  { title: "a newer one begins anew", names: "u:ann d:tv", erased: "u:ann d:tv", at: 1_001, kept: "u:ann d:tv" },
  {
    title: "not when it is suppressed",
    names: "u:ann",
    erased: "u:ann",
    suppressed: true,
    at: 9_000,
    rule: "suppressed",
  },
  {
    title: "of an unknown facet an erased person's other identifier refuses",
    names: "u:new e:ann",
    erased: "e:ann",
    rule: "erased",
  },
  {
    title: "of a known facet it is left out",
    names: "u:bob e:ann",
    erased: "e:ann",
    known: "u:bob",
    kept: "u:bob",
    rule: "erased",
  },
  {
    title: "an erased device takes no event from anybody",
    names: "u:new d:tv",
    erased: "d:tv",
    kept: "u:new",
    rule: "erased",
  },
  {
    title: "nor does it keep two others apart",
    names: "u:new d:tv e:new",
    erased: "d:tv",
    kept: "u:new e:new",
    rule: "erased",
  },
  {
    title: "the erased facet's identifier came back: an older event is refused still",
    names: "u:ann",
    erased: "u:ann",
    known: "u:ann",
    rule: "erased",
  },
  { title: "and a newer one is its own", names: "u:ann", erased: "u:ann", known: "u:ann", at: 1_001, kept: "u:ann" },
  { title: "what nobody erased is not touched", names: "u:bob", erased: "u:ann", kept: "u:bob" },
  {
    title: "identify links what was erased, as new",
    names: "u:ann e:a",
    erased: "u:ann",
    source: "identify",
    kept: "u:ann e:a",
  },
  {
    title: "identify leaves out what is suppressed",
    names: "u:ann e:a",
    erased: "u:ann",
    source: "identify",
    suppressed: true,
    kept: "e:a",
    rule: "suppressed",
  },
  {
    title: "identify of nothing else is refused",
    names: "u:ann",
    erased: "u:ann",
    source: "identify",
    suppressed: true,
    rule: "suppressed",
  },
  {
    title: "an alias holds as a whole or is refused",
    names: "d:tv u:ann",
    erased: "u:ann",
    source: "alias",
    suppressed: true,
    rule: "suppressed",
  },
  {
    title: "an alias of what was erased links anew",
    names: "d:tv u:ann",
    erased: "u:ann",
    source: "alias",
    kept: "d:tv u:ann",
  },
];

const namesIn = (names: string | undefined): readonly Identifier[] =>
  names === undefined ? [] : names.split(" ").map(named);
const keyOf = (one: Identifier) => identifierKey(workspace, one);

const tombstone = (isSuppressed: boolean): Tombstone => ({
  erasureId: "00000000-0000-7000-8000-000000000001" as ErasureId,
  erasedAt: ERASED_AT,
  isSuppressed,
  uids: [],
});

function snapshotOf({ erased, known, suppressed = false }: Row): Snapshot {
  const standing = namesIn(known);
  return {
    ...EMPTY_SNAPSHOT,
    identifiers: new Map(
      standing.map((one, component) => [
        keyOf(one),
        { uid: newId(), component, unlinkedAt: null, seenWith: [], isShared: false },
      ]),
    ),
    components: new Map(
      standing.map(({ namespace }, component) => [
        component,
        { profileId: newId(), size: 1, rev: 1, counts: new Map([[namespace, 1]]), forbidden: [] },
      ]),
    ),
    tombstones: new Map(namesIn(erased).map((one) => [keyOf(one), tombstone(suppressed)])),
  };
}

function resultOf(row: Row): { readonly result: AssertResult; readonly kept: string; readonly records: number } {
  const { names, source = newId<EventId>(), at = 900, effectiveAt = at } = row;
  const assertion: Assertion = { identifiers: namesIn(names), evidence: { ...EVIDENCE, source, at }, effectiveAt };
  const request = aRequest(workspace, assertion);
  const { plan, results } = decide(snapshotOf(row), [request], RULES);
  const recorded = plan?.changes.flatMap(({ identifiers }) => identifiers) ?? [];
  const dropped = new Set(results[0]!.dropped.map(({ identifier }) => nameOf(identifier)));
  const kept = assertion.identifiers.map(nameOf).filter((name) => !dropped.has(name));
  for (const one of recorded) assert.ok(!dropped.has(nameOf(one as Identifier)), "no record names who was erased");
  return { result: results[0]!, kept: kept.join(" "), records: plan?.changes.length ?? 0 };
}

describe("What erasures leave of a request", () => {
  for (const row of TABLE)
    it(row.title, () => {
      const { result, kept, records } = resultOf(row);
      if (row.kept === undefined) {
        assert.deepEqual([result.outcome, result.rule, result.facet, records], ["refused", row.rule, null, 0]);
        assert.equal(result.refusedBy!.erasedAt, ERASED_AT);
      } else {
        assert.notEqual(result.outcome, "refused");
        assert.equal(kept, row.kept);
        assert.equal(result.refusedBy, null);
        assert.deepEqual(
          new Set(result.dropped.map(({ rule }) => rule)),
          new Set(row.rule === undefined ? [] : [row.rule]),
        );
      }
    });

  it("marks what comes back, and nothing else", () => {
    const assertion: Assertion = { identifiers: namesIn("u:ann u:bob"), evidence: EVIDENCE };
    const { plan } = decide(
      snapshotOf({ title: "", names: "", erased: "u:ann" }),
      [aRequest(workspace, assertion)],
      RULES,
    );
    assert.deepEqual(
      plan!.creates.map(({ identifier, isReturned }) => [nameOf(identifier), isReturned]),
      [
        ["u:ann", true],
        ["u:bob", undefined],
      ],
    );
  });

  it("judges the facet by the first that is not shared", () => {
    const rules = { ...RULES, limits: new Map([["user_id", 1]]), sharedIdentifierLimit: 1 };
    const row: Row = { title: "", names: "", erased: "d:kiosk", known: "d:kiosk u:bob" };
    const snapshot = snapshotOf(row);
    const key = keyOf(named("d:kiosk"));
    const seenWith = ["u:x", "u:y"].map((name) => keyOf(named(name)));
    const identifiers = new Map([...snapshot.identifiers, [key, { ...snapshot.identifiers.get(key)!, seenWith }]]);
    const evidence = { ...EVIDENCE, source: newId<EventId>(), at: 900 };
    const request = aRequest(workspace, { identifiers: namesIn("d:kiosk u:bob"), evidence });
    const [result] = decide({ ...snapshot, identifiers }, [request], rules).results;
    assert.notEqual(result!.outcome, "refused", "the kiosk is nobody's, so the event is the other one's");
    const alone = decide({ ...snapshot, identifiers }, [request], { ...rules, sharedIdentifierLimit: 3 }).results[0]!;
    assert.equal(alone.outcome, "refused");
  });
});
