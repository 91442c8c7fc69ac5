import assert from "node:assert/strict";
import type { Static, TObject } from "typebox";
import type * as client from "../../client/types.js";
import type { ERROR_ITEM } from "../../gateway/http/error-response.js";
import type { LINKED } from "../../gateway/routes/identify.js";
import type { PROFILE } from "../../gateway/routes/profiles.js";
import type { IDENTIFIER } from "../../gateway/shapes/fields.js";
import type { RULE } from "../../gateway/shapes/records.js";

type Frozen<T> = T extends object ? { readonly [Key in keyof T]: Frozen<T[Key]> } : T;
/** True if each takes the other's place. */
type Same<A, B> = [Frozen<A>] extends [Frozen<B>] ? ([Frozen<B>] extends [Frozen<A>] ? true : false) : false;

/** A difference between a row and the client does not compile. */
const SAME: readonly true[] = [
  true satisfies Same<client.Identifier, Static<typeof IDENTIFIER>>,
  true satisfies Same<client.ErrorItem, Static<typeof ERROR_ITEM>>,
  true satisfies Same<client.Rule, Static<typeof RULE>>,
  true satisfies Same<client.Linked, Static<TObject<typeof LINKED>>>,
  true satisfies Same<client.Profile, Static<TObject<typeof PROFILE>>>,
];
/** And the comparison sees one. */
const OTHER: readonly false[] = [
  false satisfies Same<client.Identifier, Static<typeof ERROR_ITEM>>,
  false satisfies Same<client.Linked, client.Linked & { readonly more: string }>,
  false satisfies Same<{ readonly a: "x" | "y" }, { readonly a: "x" }>,
];

describe("The types of the client", () => {
  it("are those of the rows of the routes", () => {
    assert.deepEqual([SAME.length, OTHER.length], [5, 3]);
  });
});
