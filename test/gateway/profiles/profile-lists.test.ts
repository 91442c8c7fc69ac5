import assert from "node:assert/strict";
import { at, listAt, textAt, useApp, type TestWorkspace } from "../../support/service/app.js";

const id = (namespace: string, value: string) => ({ namespace, value });

describe("Lists of profiles", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  beforeEach(async () => void (workspace = await app().workspace()));
  const identify = async (...identifiers: readonly unknown[]) =>
    textAt((await workspace.send("POST", "/v1/identify", { identifiers })).body, "profile_id");
  const idsIn = (body: unknown) => listAt(body, "profiles").map((profile) => textAt(profile, "profile_id"));

  it("show each profile as it is read by its id, by age, page by page", async () => {
    const ids: string[] = [];
    for (const name of ["a", "b", "c", "d", "e"]) ids.push(await identify(id("user_id", name), id("cookie_id", name)));
    const kept = ids.filter((_, i) => i !== 3);
    await identify(id("user_id", "d"), id("user_id", "b"));
    const found: string[] = [];
    let cursor = "";
    do {
      const { status, body } = await workspace.send("GET", `/v1/profiles?limit=2${cursor}`);
      assert.equal(status, 200);
      for (const [i, one] of idsIn(body).entries()) {
        const alone = await workspace.send("GET", `/v1/profiles/${one}`);
        assert.deepEqual(at(body, `profiles.${i}`), alone.body);
      }
      found.push(...idsIn(body));
      cursor = body["next_cursor"] === null ? "" : `&cursor=${textAt(body, "next_cursor")}`;
    } while (cursor !== "");
    assert.deepEqual(found, kept);
  });

  it("are empty in a new workspace, and refuse the cursor of another workspace or list", async () => {
    const { body } = await workspace.send("GET", "/v1/profiles");
    assert.deepEqual(body, { profiles: [], next_cursor: null });
    for (const name of ["a", "b"]) await identify(id("user_id", name));
    const page = await workspace.send("GET", "/v1/profiles?limit=1");
    const cursor = textAt(page.body, "next_cursor");
    const other = await app().workspace();
    for (const refused of [
      await other.send("GET", `/v1/profiles?cursor=${cursor}`),
      await workspace.send("GET", `/v1/changes?cursor=${cursor}`),
      await workspace.send("GET", `/v1/profiles?cursor=${cursor}x`),
    ])
      assert.deepEqual([refused.status, refused.body["code"]], [400, "invalid_cursor"]);
    assert.deepEqual((await other.send("GET", "/v1/profiles")).body["profiles"], []);
  });
});
