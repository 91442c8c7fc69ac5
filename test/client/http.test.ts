import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { createHttp } from "../../client/http.js";

const CALL = { method: "GET", path: "/v1/changes", repeatable: false } as const;
/** Never answers; fails as `fetch` does when its signal aborts. */
const never: typeof fetch = (_, init) =>
  new Promise((_resolve, reject) => init!.signal!.addEventListener("abort", () => reject(init!.signal!.reason)));
const httpOf = (doFetch: typeof fetch, timeoutMs?: number) =>
  createHttp({ url: "http://onym.example", key: "k", fetch: doFetch, ...(timeoutMs !== undefined && { timeoutMs }) });

/** What ended the request, also where an error of the client stands around it. */
const endedBy = (name: string) => (error: Error) => ((error.cause as Error | undefined) ?? error).name === name;
class Ended extends Error {
  override readonly name = "Ended";
}

describe("The client's requests", () => {
  it("end when their time is over, or when their caller ends them", async () => {
    await assert.rejects(httpOf(never, 10)(CALL), endedBy("TimeoutError"));
    const ending = new AbortController();
    const sent = httpOf(never)({ ...CALL, signal: ending.signal });
    ending.abort(new Ended());
    await assert.rejects(sent, endedBy("Ended"));
    const late = httpOf((_, init) => Promise.reject(init!.signal!.reason));
    await assert.rejects(late({ ...CALL, signal: ending.signal }), endedBy("Ended"));
  });

  it("leave nothing behind in the signal of their caller", async () => {
    const { signal } = new AbortController();
    const http = httpOf(async () => Response.json({}));
    for (let n = 0; n < 100; n += 1) await http({ ...CALL, signal });
    await assert.rejects(httpOf(never, 1)({ ...CALL, signal }), endedBy("TimeoutError"));
    assert.equal(getEventListeners(signal, "abort").length, 0);
  });
});
