import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { checkAnswer } from "../../support/service/check-answer.js";

const JSON_TYPE = "application/json; charset=utf-8";
const PROBLEM_TYPE = "application/problem+json; charset=utf-8";

describe("The check of every answer against the row of its route", () => {
  const eventId = randomUUID();
  const accepted = { event_id: eventId, status: "accepted" };
  const check = (body: object, status = 202, contentType: string | undefined = JSON_TYPE): void =>
    checkAnswer("POST", "/v1/collect?syncValidation=false", { status, contentType, text: JSON.stringify(body) });
  const problem = {
    type: "urn:onym:error:unknown_schema",
    title: "Unknown schema",
    status: 422,
    detail: "schema_id: is not a schema of this workspace.",
    code: "unknown_schema",
    request_id: randomUUID(),
    errors: [],
  };

  it("lets an answer pass that is as the row says", () => {
    check(accepted);
    check(problem, 422, PROBLEM_TYPE);
    checkAnswer("DELETE", "/v1/keys/x", { status: 204, contentType: undefined, text: "", etag: null });
  });

  it("fails for an ETag that its row does not name", () => {
    const keys = { status: 204, contentType: undefined, text: "", etag: '"x"' };
    assert.throws(() => checkAnswer("DELETE", "/v1/keys/x", keys), assert.AssertionError);
  });

  it("fails for a member too many, a member too few, another value, another status and another content type", () => {
    const wrong: readonly (readonly [object, number?, string?])[] = [
      [{ ...accepted, more: 1 }],
      [{ event_id: eventId }],
      [{ ...accepted, status: "queued" }],
      [accepted, 201],
      [accepted, 202, "text/html"],
      [{ ...problem, code: "conflict" }, 422, PROBLEM_TYPE],
      [{ ...problem, trace: "at" }, 422, PROBLEM_TYPE],
      [problem, 422, JSON_TYPE],
      [{ ...problem, status: 404, code: "not_found", type: "urn:onym:error:not_found" }, 404, PROBLEM_TYPE],
    ];
    for (const given of wrong) assert.throws(() => check(...given), assert.AssertionError, JSON.stringify(given));
  });

  it("takes for a path without a route only the refusals that are made before one is found", () => {
    const text = JSON.stringify({
      ...problem,
      status: 404,
      code: "not_found",
      type: "urn:onym:error:not_found",
      errors: undefined,
    });
    checkAnswer("GET", "/v1/nowhere", { status: 404, contentType: PROBLEM_TYPE, text });
    assert.throws(() => checkAnswer("GET", "/v1/nowhere", { status: 200, contentType: JSON_TYPE, text: "{}" }));
  });
});
