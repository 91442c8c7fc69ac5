import assert from "node:assert/strict";
import { AppError } from "../../../core/errors.js";
import { problemOf } from "../../../gateway/http/error-response.js";

const shown = (error: unknown): Readonly<Record<string, unknown>> =>
  JSON.parse(problemOf(error).json) as Readonly<Record<string, unknown>>;

describe("The answer to an error", () => {
  it("shows the members that the error adds, after its own", () => {
    const members = { still_joined_by: [{ from: "a" }], count: 2 };
    const body = shown(new AppError("still_joined", "They are.", { members }));
    assert.deepEqual(Object.keys(body), [
      "type",
      "title",
      "status",
      "detail",
      "code",
      "request_id",
      "still_joined_by",
      "count",
    ]);
    assert.deepEqual([body["still_joined_by"], body["count"]], [[{ from: "a" }], 2]);
    assert.deepEqual([body["status"], body["type"]], [409, "urn:onym:error:still_joined"]);
  });

  it("lets no added member take the place of its own", () => {
    const names = ["type", "title", "status", "detail", "code", "request_id", "errors"];
    const members = { ...Object.fromEntries(names.map((name) => [name, "forged"])), rule: "limit" };
    const body = shown(new AppError("validation_failed", "No.", { members }));
    assert.deepEqual(Object.keys(body), [...names, "rule"]);
    assert.ok(!JSON.stringify(body).includes("forged"));
  });

  it("names each status that a code stands for", () => {
    assert.equal(problemOf(new AppError("precondition_failed", "No.")).status, 412);
    assert.equal(problemOf(new AppError("still_joined", "No.")).status, 409);
  });

  it("shows nothing of what is not an expected failure", () => {
    const body = shown(Object.assign(new Error("secret"), { members: { rule: "secret" } }));
    assert.equal(body["status"], 500);
    assert.ok(!JSON.stringify(body).includes("secret"));
  });
});
