import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Backends } from "../../../app/backends.js";
import { listAt, textAt, useApp, type TestWorkspace } from "../../support/service/app.js";

const CHANGES = 20;
const PAGE_BYTES_MAX = 2 * 1_048_576;
/** As JSON each of its characters takes six bytes. */
const LONG = "\u0001".repeat(1_000);

describe("A list of large items", () => {
  let [reading, most] = [0, 0];
  const counting = async <T>(read: () => Promise<T>): Promise<T> => {
    most = Math.max(most, (reading += 1));
    await sleep(20);
    return read().finally(() => (reading -= 1));
  };
  const wrap = (backends: Backends): Backends => {
    const { graph } = backends;
    return { ...backends, graph: { ...graph, changes: (...given) => counting(() => graph.changes(...given)) } };
  };
  const app = useApp({}, { wrap });
  let workspace: TestWorkspace;
  let profileId: string;
  const made: string[] = [];
  before(async () => {
    workspace = await app().workspace();
    for (let n = 0; n < CHANGES; n += 1) {
      const others = Array.from({ length: 19 }, (_, i) => ({ namespace: "cookie_id", value: `${n}-${i}${LONG}` }));
      const identifiers = [{ namespace: "user_id", value: "u-1" }, ...others];
      const { status, body, text } = await workspace.send("POST", "/v1/identify", { identifiers });
      assert.equal(status, 200, text);
      made.unshift(textAt(body, "change_id"));
      profileId = textAt(body, "profile_id");
    }
  });
  beforeEach(() => ([reading, most] = [0, 0]));

  for (const [name, target, items, id] of [
    ["changes", () => "/v1/changes", "changes", "change_id"],
    ["the history of a profile", () => `/v1/profiles/${profileId}/history`, "changes", "change_id"],
    ["the identifiers of a profile", () => `/v1/profiles/${profileId}/identifiers`, "identifiers", "value"],
  ] as const)
    it(`ends a page at 2 MB, and its pages have each once: ${name}`, async () => {
      const walked: string[] = [];
      let pages = 0;
      for (let cursor = ""; ; pages += 1) {
        const { status, body, text } = await workspace.send("GET", `${target()}?limit=100${cursor}`);
        assert.equal(status, 200, text);
        assert.ok(Buffer.byteLength(text) <= PAGE_BYTES_MAX + 1_000, `${Buffer.byteLength(text)} bytes`);
        walked.push(...listAt(body, items).map((item) => textAt(item, id)));
        if (body["next_cursor"] === null) break;
        cursor = `&cursor=${textAt(body, "next_cursor")}`;
      }
      if (id === "change_id") assert.deepEqual(walked, made);
      else assert.equal(new Set(walked).size, CHANGES * 19 + 1);
      assert.ok(pages >= 1, `${pages + 1} pages`);
    });

  it("takes its bytes before it reads: one of a workspace is made at a time", async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => workspace.send("GET", "/v1/changes?limit=100")));
    for (const { status, text } of answers) assert.equal(status, 200, text);
    assert.equal(most, 1);
  });
});
