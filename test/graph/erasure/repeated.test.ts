import assert from "node:assert/strict";
import { newErasure, repeated } from "../../../graph/rules/erasing.js";
import { newId, type ErasureId } from "../../../core/ids.js";
import { aKeyId } from "../../support/builders.js";
import { aWorkspace } from "../../support/identity/fixtures.js";

describe("An erasure that is asked for again", () => {
  const workspace = aWorkspace();
  const request = (at: number, suppress: boolean) => ({
    target: { identifiers: [] },
    keyId: aKeyId(),
    now: () => at,
    suppress,
    revision: null,
  });
  const first = newErasure(workspace, request(1, false), newId<ErasureId>(), { kind: "nobody", strangers: [] });
  const again = (isNamed: boolean, suppress: boolean) =>
    repeated({ kind: "dead", erasures: [first], isNamed }, request(9, suppress)).map((one) => [
      one.erasureId === first.erasureId,
      one.erasedAt,
      one.suppress,
    ]);

  it("covers what came since where it names the person, or begins to suppress them", () => {
    assert.deepEqual(again(true, false), [[true, 9, false]]);
    assert.deepEqual(again(true, true), [[true, 9, true]]);
    assert.deepEqual(again(false, true), [[true, 9, true]]);
    assert.deepEqual(again(false, false), [], "by the id of a profile that is no more nothing came in");
  });
});
