import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { EventEmitter } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { readBody } from "../../../gateway/body/read.js";
import { isAppError } from "../../support/errors.js";
import { held } from "../../support/service/held.js";

const LIMIT = { bytesMax: 1_000_000, toldMax: 1_000_000, path: "" } as const;

function begin(
  took?: (bytes: number) => void,
  headers: IncomingMessage["headers"] = { "transfer-encoding": "chunked" },
) {
  const request = Object.assign(new EventEmitter(), { headers });
  const body = readBody(request as unknown as IncomingMessage, {} as ServerResponse, LIMIT, took);
  return { request, body };
}

describe("A body that is read", () => {
  it("is what was sent, in whatever parts, and each of them is told", async () => {
    for (const sizes of [[], [7], [0, 1, 0], [40_000, 1, 2, 60_000], [500_000, 500_000]]) {
      const parts = sizes.map((size) => randomBytes(size));
      let told = 0;
      const { request, body } = begin((bytes) => (told += bytes));
      for (const part of parts) request.emit("data", part);
      request.emit("end");
      assert.ok((await body).equals(Buffer.concat(parts)), sizes.join());
      assert.equal(told, (await body).length);
    }
  });

  it("ends with the part that takes it beyond its limit", async () => {
    const { request, body } = begin();
    request.emit("data", Buffer.alloc(999_999));
    request.emit("data", Buffer.alloc(2));
    await assert.rejects(body, isAppError("payload_too_large"));
    assert.equal(request.listenerCount("data"), 0);
  });

  it("takes no more memory than is told, while it comes and when it is whole", async () => {
    const before = held();
    let told = 0;
    const { request, body } = begin((bytes) => (told += bytes));
    for (const size of [400_000, 200_000]) request.emit("data", Buffer.alloc(size, "x"));
    const taken = held() - before;
    assert.ok(taken < told + 100_000, `${taken} bytes, of which ${told} are told`);
    request.emit("end");
    assert.equal((await body).length, 600_000);
    assert.equal((await body).buffer.byteLength, 600_000);
    assert.equal(told, 600_000);
  });

  it("takes no more than it has said that it is", async () => {
    let told = 0;
    const { request, body } = begin((bytes) => (told += bytes), { "content-length": "600000" });
    for (const size of [400_000, 200_000]) request.emit("data", Buffer.alloc(size, "x"));
    assert.equal(told, 600_000);
    request.emit("end");
    assert.equal((await body).buffer.byteLength, 600_000);
  });

  it("takes no more memory in parts of a byte than in one: a batch of 4 MiB took more than a gigabyte", async () => {
    const before = held();
    const { request, body } = begin();
    for (let n = 0; n < 900_000; n += 1) request.emit("data", Buffer.alloc(1, "x"));
    const taken = held() - before;
    assert.ok(taken < 4_000_000, `${taken} bytes`);
    request.emit("end");
    assert.equal((await body).length, 900_000);
  });
});
