import assert from "node:assert/strict";
import * as fc from "fast-check";
import type { Namespace } from "../../core/catalog/catalog.js";
import { identifierKey, identifierOf } from "../../core/event/event.js";
import { newId, type WorkspaceId } from "../../core/ids.js";
import { rulesOf } from "../../core/identity/rules.js";
import {
  admit,
  beyondLimits,
  BUILT_IN_NAMESPACES,
  namespaceTable,
  type GivenIdentifier,
} from "../../core/identity/namespaces.js";
import { SEED } from "../support/random/random.js";

const BUILT_IN = namespaceTable([]);
const given = (namespace: string, value: string, path = "p"): GivenIdentifier => ({ path, namespace, value });
const admitted = (...list: readonly GivenIdentifier[]) =>
  admit(list, BUILT_IN).identifiers.map(({ namespace, value }) => `${namespace}:${value}`);
const isDropped = (value: string, namespace = "user_id"): boolean =>
  admit([given(namespace, value)], BUILT_IN).dropped.length === 1;

const own = (changes: Partial<Namespace>): Namespace => ({
  name: "member",
  kind: "person",
  normalization: "none",
  limit: null,
  priority: 0,
  blocked: [],
  registeredItself: false,
  used: false,
  ...changes,
});

describe("The rules of namespaces", () => {
  it("know eight built-in names, whose priority falls in the documented order", () => {
    const byPriority = BUILT_IN_NAMESPACES.toSorted((a, b) => b.priority - a.priority).map(({ name }) => name);
    assert.deepEqual(byPriority, [
      "user_id",
      "customer_id",
      "email",
      "phone",
      "device_id",
      "advertising_id",
      "anonymous_id",
      "cookie_id",
    ]);
    const devices = BUILT_IN_NAMESPACES.filter(({ kind }) => kind === "device").map(({ name }) => name);
    assert.deepEqual(devices.toSorted(), ["advertising_id", "anonymous_id", "cookie_id", "device_id"]);
  });

  it("set no limit unless the workspace does", () => {
    assert.ok(BUILT_IN_NAMESPACES.every(({ limit }) => limit === null));
  });

  it("trim e-mails and lower their case, and nothing else of them", () => {
    assert.deepEqual(admitted(given("email", " Ada.L+x@Example.COM ")), ["email:ada.l+x@example.com"]);
  });

  it("compare values of a namespace without normalisation exactly as sent", () => {
    assert.deepEqual(admitted(given("user_id", " A ")), ["user_id: A "]);
    assert.deepEqual(admitted(given("user_id", "a"), given("user_id", "A")), ["user_id:A", "user_id:a"]);
    assert.deepEqual(admitted(given("user_id", "\u00e9"), given("user_id", "e\u0301")), [
      "user_id:e\u0301",
      "user_id:\u00e9",
    ]);
  });

  it("drop values that stand for nobody, trimmed, unquoted and without case", () => {
    const junk = ["null", "NULL", " undefined ", '"null"', "'anonymous'", "`N/A`", `"'none'"`, "[object Object]"];
    const zeros = ["0", "000", "-", "---", "00000000-0000-0000-0000-000000000000", " ", '""'];
    for (const value of [...junk, ...zeros]) assert.equal(isDropped(value), true, value);
    for (const value of ["nullable", "u-0", "10", "anonymous2", "'"]) assert.equal(isDropped(value), false, value);
    assert.equal(isDropped("null", "email"), true);
  });

  it("drop the values that the workspace blocked, compared as junk is", () => {
    const table = namespaceTable([own({ blocked: ["Test-User"] })]);
    const { identifiers, dropped } = admit([given("member", ' "test-user" '), given("member", "test-user2")], table);
    assert.deepEqual(dropped, [{ identifier: { namespace: "member", value: ' "test-user" ' }, rule: "blocked" }]);
    assert.deepEqual(identifiers, [{ namespace: "member", value: "test-user2" }]);
  });

  it("compare with a list of a thousand long blocked values as fast as with none", () => {
    const blocked = Array.from({ length: 1_000 }, (_, n) => `${n}`.padEnd(1_000, "X"));
    const table = namespaceTable([own({ blocked })]);
    const list = Array.from({ length: 20 }, (_, n) => given("member", `m${n}`));
    const started = performance.now();
    for (let time = 0; time < 300; time += 1) assert.equal(admit(list, table).dropped.length, 0);
    assert.ok(performance.now() - started < 2_000, "each list is prepared once");
    assert.equal(admit([given("member", ` '${"7".padEnd(1_000, "x")}'`)], table).dropped.length, 1);
  });

  it("keep each identifier once, by priority, namespace and value", () => {
    const list = [
      given("zeta", "1"),
      given("cookie_id", "c"),
      given("email", "B@x"),
      given("email", "b@X"),
      given("alpha", "1"),
    ];
    const expected = ["email:b@x", "cookie_id:c", "alpha:1", "zeta:1"];
    assert.deepEqual(admitted(...list), expected);
    assert.deepEqual(admitted(...list.toReversed()), expected);
  });

  it("take a number that the workspace set as the priority", () => {
    const table = namespaceTable([own({ priority: 900 })]);
    const { identifiers } = admit([given("user_id", "u"), given("member", "m")], table);
    assert.deepEqual(identifiers[0], { namespace: "member", value: "m" });
  });

  it("let a name of the right form register itself, at the lowest priority and once", () => {
    const { unregistered, errors } = admit([given("loyalty.card-2_x", "1"), given("loyalty.card-2_x", "2")], BUILT_IN);
    assert.deepEqual(errors, []);
    assert.deepEqual(
      unregistered.map(({ namespace }) => namespace),
      [own({ name: "loyalty.card-2_x", registeredItself: true })],
    );
    assert.deepEqual(admit([given("email", "a@b")], BUILT_IN).unregistered, []);
  });

  it("tell which namespaces nothing has named before, each once, and only those whose values link", () => {
    const [used, put] = [own({ name: "used", used: true }), own({ name: "put" })];
    const table = namespaceTable([used, put, own({ name: "itself", registeredItself: true })]);
    const names = ["used", "put", "itself", "fresh", "email"];
    const { unused } = admit(
      [...names, "put"].map((name, n) => given(name, `${n}@x`)),
      table,
    );
    assert.deepEqual(unused, [put, table.get("email")]);
    assert.deepEqual(admit([given("put", "null"), given("email", "nobody")], table).unused, []);
  });

  it("do not let a name register itself with a value that never links", () => {
    assert.deepEqual(admit([given("loyalty", "null")], BUILT_IN).unregistered, []);
  });

  it("refuse a name of another form and say where it stood", () => {
    const names = ["", "Email", "1a", "_a", "a b", "a:b", "é", "a".repeat(65), "a\n"];
    for (const name of names) assert.equal(admit([given(name, "1", "here")], BUILT_IN).errors[0]?.path, "here", name);
    assert.deepEqual(admit([given("a".repeat(64), "1")], BUILT_IN).errors, []);
  });

  it("count characters, not their halves: 1,024 are taken and 1,025 are not", () => {
    const wide = "\u{1f600}";
    assert.deepEqual(admit([given("user_id", wide.repeat(1_024))], BUILT_IN).errors, []);
    assert.equal(admit([given("user_id", wide.repeat(1_025), "here")], BUILT_IN).errors[0]?.path, "here");
    assert.equal(admit([given("user_id", "x".repeat(1_025))], BUILT_IN).errors.length, 1);
  });

  it("make different keys of different identifiers, whatever delimiters, quotes or NUL their values hold", () => {
    const workspace = newId<WorkspaceId>();
    const name = fc.stringMatching(/^[a-z][a-z0-9_.-]{0,9}$/);
    const identifier = fc.record(
      { namespace: name, value: fc.string({ unit: fc.constantFrom(":", '"', "\0", "a", "\\") }) },
      { noNullPrototype: true },
    );
    fc.assert(
      fc.property(identifier, identifier, (a, b) => {
        const same = a.namespace === b.namespace && a.value === b.value;
        assert.equal(identifierKey(workspace, a) === identifierKey(workspace, b), same);
        assert.deepEqual(identifierOf(identifierKey(workspace, a)), a);
      }),
      { seed: SEED, numRuns: 2_000 },
    );
    const split = [
      { namespace: "a", value: "b:c" },
      { namespace: "a", value: "b" },
      { namespace: "a.b", value: "c" },
    ];
    assert.equal(new Set(split.map((one) => identifierKey(workspace, one))).size, 3);
  });
});

describe("The limits of namespaces", () => {
  const email = { ...namespaceTable([]).get("email")!, limit: 2 };
  const stored = [email, own({ limit: 1, blocked: ["shared"] })];
  const table = namespaceTable(stored);
  const beyond = (...list: readonly (readonly [namespace: string, value: string])[]) =>
    beyondLimits(
      list.map(([namespace, value], i) => given(namespace, value, `identifiers.${i}`)),
      table,
    ).map(({ path }) => path);

  it("name each value of a request that one profile could not hold beside those before it", () => {
    assert.deepEqual(beyond(["email", "a@x"], ["member", "1"], ["email", "b@x"]), []);
    assert.deepEqual(beyond(["email", "a@x"], ["email", "b@x"], ["member", "1"], ["email", "c@x"], ["member", "2"]), [
      "identifiers.3",
      "identifiers.4",
    ]);
    assert.deepEqual(beyond(["member", "1"], ["member", "2"], ["member", "2"], ["member", "1"]), [
      "identifiers.1",
      "identifiers.2",
    ]);
  });

  it("count a value once however it is written, and none that is blocked or of a namespace without a limit", () => {
    assert.deepEqual(beyond(["email", "a@x"], ["email", " A@X "], ["email", "b@x"], ["email", "B@X"]), []);
    assert.deepEqual(beyond(["member", "null"], ["member", "Shared"], ["member", "1"], ["member", "0"]), []);
    assert.deepEqual(beyond(["user_id", "1"], ["user_id", "2"], ["unseen", "1"], ["unseen", "2"]), []);
    const [first] = beyondLimits([given("member", "1"), given("member", "2", "here")], table);
    assert.deepEqual(first, { path: "here", message: "exceeds the limit of namespace member: 1 per profile" });
  });

  it("are what is left over when as many as fit are taken, so that the rest is within them", () => {
    const identifier = fc.tuple(
      fc.constantFrom("email", "member", "user_id"),
      fc.constantFrom("1", "2", "3", " 3", "A", "a", "null"),
    );
    fc.assert(
      fc.property(fc.array(identifier, { maxLength: 12 }), (list) => {
        const named = new Set(beyond(...list).map((path) => Number(path.split(".")[1])));
        const rest = list.filter((_, i) => !named.has(i));
        assert.deepEqual(beyond(...rest), []);
        for (const i of named) assert.notDeepEqual(beyond(...rest, list[i]!), [], `${i} did not have to go`);
      }),
      { seed: SEED, numRuns: 2_000 },
    );
  });

  it("are rules with the priorities of all namespaces: an unknown one has 0, one without a limit is not among the limits", () => {
    const rules = rulesOf(stored, { sharedIdentifierLimit: 4 });
    const limits = { email: 2, member: 1 };
    assert.deepEqual(rules.limits, new Map(Object.entries(limits)));
    assert.equal(rules.sharedIdentifierLimit, 4);
    assert.deepEqual(["user_id", "cookie_id", "member", "unseen"].map(rules.priorityOf), [700, 100, 0, 0]);
    const none = rulesOf([], { sharedIdentifierLimit: null });
    assert.deepEqual([none.limits.size, none.sharedIdentifierLimit], [0, null]);
  });

  it("are made into rules once for the same list and settings, and anew for others", () => {
    const rules = rulesOf(stored, { sharedIdentifierLimit: 4 });
    assert.equal(rulesOf(stored, { sharedIdentifierLimit: 4 }), rules);
    assert.equal(rulesOf(stored, { sharedIdentifierLimit: 5 }).sharedIdentifierLimit, 5);
    assert.deepEqual([...rulesOf([own({ limit: 9 })], { sharedIdentifierLimit: 4 }).limits], [["member", 9]]);
  });
});
