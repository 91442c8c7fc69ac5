import assert from "node:assert/strict";
import { MongoAPIError, MongoNetworkError, MongoNotConnectedError, MongoServerError } from "mongodb";
import { isUnavailable } from "../../core/errors.js";
import { toAppError } from "../../store/mongo/failure.js";

const system = (code: string): Error => Object.assign(new Error("This socket has been ended"), { code });

describe("What an error of MongoDB means", () => {
  const away: readonly (readonly [string, Error])[] = [
    ["a lost connection", new MongoNetworkError("connection closed")],
    ["a client that is not connected", new MongoNotConnectedError("not connected")],
    ["a server that shuts down", new MongoServerError({ code: 11_600, message: "shutdown" })],
    ["a write to a socket that ended this moment, which the driver does not wrap", system("EPIPE")],
    ["a connection reset, which the driver does not wrap", system("ECONNRESET")],
  ];
  for (const [what, error] of away)
    it(`${what} is a server that is away`, () => {
      assert.ok(isUnavailable(toAppError(error)));
    });

  const mistakes: readonly (readonly [string, Error])[] = [
    ["a request that the server cannot read", new MongoServerError({ code: 9, message: "failed to parse" })],
    ["a wrong use of the driver", new MongoAPIError("wrong")],
    ["an error of ours", new TypeError("undefined is not a function")],
    ["an error of ours with a code", system("ERR_INVALID_ARG_TYPE")],
  ];
  for (const [what, error] of mistakes)
    it(`${what} would fail again, and comes as it is`, () => {
      assert.equal(toAppError(error), error);
    });
});
