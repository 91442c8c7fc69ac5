import assert from "node:assert/strict";
import * as fc from "fast-check";
import type { Services } from "../../../commands/services.js";
import { AppError } from "../../../core/errors.js";
import { newId, type WorkspaceId } from "../../../core/ids.js";
import { queryReader } from "../../../gateway/http/validate.js";
import { profileListRoutes } from "../../../gateway/routes/profile-lists.js";
import { createCursors } from "../../../gateway/shapes/cursors.js";
import { PAGE, pageOf, pageOfRequest } from "../../../gateway/shapes/page.js";
import { SEED } from "../../support/random/random.js";

const SECRET = Buffer.alloc(32, 7);
const cursors = createCursors(SECRET);
const workspace = newId<WorkspaceId>();
const write = (position: readonly string[]): string => cursors.page(workspace, "keys", { limit: 1 }).cursorOf(position);

const code = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    if (error instanceof AppError) return error.code;
    throw error;
  }
  return "none";
};
const readCode = (cursor: string, list = "keys", reader = workspace): string =>
  code(() => cursors.page(reader, list, { limit: 1, cursor }));

describe("A cursor", () => {
  it("brings its position back, and is URL-safe", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "grapheme" })), (position) => {
        const cursor = write(position);
        assert.match(cursor, /^[A-Za-z0-9_-]+$/);
        assert.deepEqual(cursors.page(workspace, "keys", { limit: 1, cursor }).after, position);
      }),
      { seed: SEED },
    );
  });

  it("of no request is no position", () => {
    assert.equal(cursors.page(workspace, "keys", { limit: 1 }).after, null);
  });

  it("is refused for another workspace, another list and another installation", () => {
    const cursor = write(["a"]);
    assert.equal(readCode(cursor), "none");
    assert.equal(readCode(cursor, "keys", newId()), "invalid_cursor");
    assert.equal(readCode(cursor, "schemas"), "invalid_cursor");
    const elsewhere = createCursors(Buffer.alloc(32, 8));
    assert.equal(
      code(() => elsewhere.page(workspace, "keys", { limit: 1, cursor })),
      "invalid_cursor",
    );
  });

  it("is refused when any one character of it was changed, added or taken away", () => {
    const cursor = write(["abcdefg"]);
    for (let i = 0; i < cursor.length; i++) {
      const other = cursor[i] === "A" ? "B" : "A";
      assert.equal(readCode(cursor.slice(0, i) + other + cursor.slice(i + 1)), "invalid_cursor", `changed at ${i}`);
      assert.equal(readCode(cursor.slice(0, i) + cursor.slice(i + 1)), "invalid_cursor", `shorter at ${i}`);
    }
    for (const added of ["A", "!", "=", " ", "\0"]) assert.equal(readCode(cursor + added), "invalid_cursor", added);
    for (const text of ["", "x", "null", "0", "-1"]) assert.equal(readCode(text), "invalid_cursor", text);
  });
});

describe("The cursor of a route", () => {
  const routes = profileListRoutes({} as Services);
  const codeOf = (operationId: string, first: object, then: object): string => {
    const asked = routes.find((route) => route.operationId === operationId)!;
    const context = { workspace, params: {} };
    const cursor = pageOfRequest(cursors, context, asked, first).cursorOf([newId()]);
    return code(() => pageOfRequest(cursors, context, asked, { ...then, cursor }));
  };

  it("is good with any limit, except where it holds the best so far, of which another limit keeps more", () => {
    assert.equal(codeOf("listProfiles", { limit: 1 }, { limit: 100 }), "none");
    assert.equal(codeOf("searchProfiles", { rule: {}, limit: 1 }, { rule: {}, limit: 100 }), "none");
    const top = (limit: number | undefined, next: number | undefined): string =>
      codeOf("topProfiles", { trait: "score", limit }, { trait: "score", limit: next });
    assert.equal(top(1, 1), "none");
    assert.equal(top(undefined, 50), "none");
    for (const [limit, next] of [
      [1, 100],
      [100, 1],
      [1, undefined],
      [undefined, 100],
    ] as const)
      assert.equal(top(limit, next), "invalid_cursor", `${limit} and ${next}`);
  });
});

describe("A page", () => {
  const readQuery = queryReader(PAGE);
  const readLimit = (given: Readonly<Record<string, string>> | null): unknown => readQuery(given)["limit"];

  it("has 50 items unless limit says 1 to 100", () => {
    assert.equal(readLimit(null), 50);
    assert.equal(readLimit({ limit: "1" }), 1);
    assert.equal(readLimit({ limit: "100" }), 100);
    for (const limit of ["0", "101", "x", "", "-1", "1.5", "1e1", " 1", "0x1", "١"])
      assert.equal(
        code(() => readLimit({ limit })),
        "invalid_parameter",
        limit,
      );
  });

  it("has a next cursor only when there is one more row", () => {
    assert.deepEqual(pageOf([1, 2, 3], 2, String), { items: [1, 2], next_cursor: "2" });
    assert.deepEqual(pageOf([1, 2], 2, String), { items: [1, 2], next_cursor: null });
    assert.deepEqual(pageOf([], 2, String), { items: [], next_cursor: null });
  });
});
