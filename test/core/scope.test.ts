import assert from "node:assert/strict";
import * as fc from "fast-check";
import type { Namespace, NamespaceKind } from "../../core/catalog/catalog.js";
import type { Identifier } from "../../core/event/event.js";
import { admit, namespaceTable, newNamespace } from "../../core/identity/namespaces.js";
import { aliasWithinScope, withinScope } from "../../core/identity/scope.js";
import { SEED } from "../support/random/random.js";

const BUILT_IN = namespaceTable([]);
const id = (text: string): Identifier => {
  const [namespace = "", value = ""] = text.split(":");
  return { namespace, value };
};
const text = ({ namespace, value }: Identifier): string => `${namespace}:${value}`;
const within = (...given: readonly string[]) => {
  const { identifiers, dropped } = withinScope(given.map(id), BUILT_IN);
  return [identifiers.map(text), dropped.map(({ identifier, rule }) => `${text(identifier)} ${rule}`)];
};

describe("The scope of a collect-only key", () => {
  it("keeps one value of each person's namespace, the first, and says which rule dropped the others", () => {
    assert.deepEqual(within("user_id:a", "user_id:b", "email:a@x.y", "email:b@x.y", "cookie_id:1"), [
      ["user_id:a", "email:a@x.y", "cookie_id:1"],
      ["user_id:b scope", "email:b@x.y scope"],
    ]);
  });

  it("keeps any number of devices, and all of an item with one value of each", () => {
    for (const given of [
      [],
      ["email:a@x.y"],
      ["user_id:a", "email:a@x.y"],
      ["cookie_id:1", "cookie_id:2", "device_id:3"],
    ])
      assert.deepEqual(within(...given), [given, []]);
  });

  it("takes a namespace that nobody registered for a person's", () => {
    assert.deepEqual(within("card:1", "card:2"), [["card:1"], ["card:2 scope"]]);
  });

  it("goes by the kind that the workspace gave a namespace", () => {
    const table = namespaceTable([
      { ...newNamespace("user_id"), kind: "device" },
      { ...newNamespace("seat"), kind: "person" },
    ]);
    const { dropped } = withinScope(["user_id:a", "user_id:b", "seat:1", "seat:2"].map(id), table);
    assert.deepEqual(
      dropped.map(({ identifier }) => text(identifier)),
      ["seat:2"],
    );
  });

  it("lets an alias link an anonymous side, and leaves out a previous side that is a person", () => {
    const [known, person, device] = ["user_id:b", "user_id:a", "anonymous_id:1"].map(id) as [
      Identifier,
      Identifier,
      Identifier,
    ];
    assert.deepEqual(aliasWithinScope(device, known, BUILT_IN), { identifiers: [device, known], dropped: [] });
    for (const previous of [person, id("email:a@x.y"), id("nobody_registered_it:1")])
      assert.deepEqual(aliasWithinScope(previous, known, BUILT_IN), {
        identifiers: [known],
        dropped: [{ identifier: previous, rule: "scope" }],
      });
  });

  const KINDS: readonly NamespaceKind[] = ["person", "device"];
  const namespaces = fc.array(
    fc.record({
      name: fc.constantFrom("user_id", "email", "cookie_id", "a", "b", "c"),
      kind: fc.constantFrom(...KINDS),
      priority: fc.integer({ min: 0, max: 3 }),
    }),
    { maxLength: 6 },
  );
  const given = fc.array(
    fc.record({
      path: fc.constant("p"),
      namespace: fc.constantFrom("user_id", "email", "cookie_id", "a", "b", "d"),
      value: fc.constantFrom("u1", "u2", "x@y.zz", "w@y.zz"),
    }),
    { maxLength: 20 },
  );
  const settings = { seed: SEED, numRuns: 1_000 } as const;

  it("holds for all items: no two values of one person's namespace, none lost, none invented, in the same order", () => {
    fc.assert(
      fc.property(namespaces, given, (rows, sent) => {
        const table = namespaceTable(rows.map((row): Namespace => ({ ...newNamespace(row.name), ...row })));
        const { identifiers } = admit(sent, table);
        const scoped = withinScope(identifiers, table);
        const kept = new Set(scoped.identifiers);
        assert.deepEqual(
          scoped.identifiers,
          identifiers.filter((one) => kept.has(one)),
        );
        assert.deepEqual(
          scoped.dropped,
          identifiers.filter((one) => !kept.has(one)).map((identifier) => ({ identifier, rule: "scope" })),
        );
        for (const { namespace } of identifiers) {
          const all = identifiers.filter((one) => one.namespace === namespace);
          const left: readonly Identifier[] = scoped.identifiers.filter((one) => one.namespace === namespace);
          const isDevice = table.get(namespace)?.kind === "device";
          assert.deepEqual(left, isDevice ? all : all.slice(0, 1));
        }
      }),
      settings,
    );
  });
});
