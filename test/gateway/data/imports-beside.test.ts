import assert from "node:assert/strict";
import { exportOf, identifier, KINDS, sendLines } from "../../support/service/imports.js";
import { listAt, textAt, until, useApp, type TestWorkspace } from "../../support/service/app.js";

describe("An import beside the original", () => {
  const app = useApp();
  const PEOPLE = Array.from({ length: 5 }, (_, n) => [
    identifier("email", `p${n}@example.com`),
    identifier("cookie_id", `c${n}`),
  ]);

  /** Five people of two identifiers, of whom so many of the oldest are erased afterwards; with the lines from before. */
  const aShop = async (erased: number) => {
    const from = await app().workspace();
    for (const identifiers of PEOPLE) await from.send("POST", "/v1/identify", { identifiers });
    const lines = new Map<string, readonly string[]>();
    for (const kind of KINDS) lines.set(kind, await exportOf(from, kind));
    const gone = PEOPLE.slice(0, erased).map(async (identifiers) => {
      const { body } = await from.send("POST", "/v1/erasures", { identifiers: identifiers.slice(0, 1) });
      const path = `/v1/erasures/${textAt(body, "erasure_id")}`;
      await until(
        () => from.send("GET", path),
        (answer) => answer.body["status"] === "completed",
      );
    });
    await Promise.all(gone);
    return lines;
  };
  const opened = async (): Promise<TestWorkspace> => {
    const into = await app().workspace();
    await into.send("POST", "/v1/imports");
    return into;
  };
  const refused = async (into: TestWorkspace, lines: readonly string[]) => {
    const { status, body, text } = await sendLines(into, lines);
    assert.deepEqual([status, body["code"]], [409, "conflict"], text);
    assert.match(textAt(body, "detail"), /another installation/);
  };

  for (const [who, erased] of [
    ["nobody was", 0],
    ["the oldest was", 1],
    ["the first four were", 4],
    ["everybody was", 5],
  ] as const)
    it(`is refused and stores no profile when ${who} erased in the original since`, async () => {
      const lines = await aShop(erased);
      const into = await opened();
      await refused(into, lines.get("profiles")!);
      // Whatever a request begins with.
      for (const line of lines.get("profiles")!.slice(0, -1)) await refused(into, [line]);
      assert.deepEqual(listAt((await into.send("GET", "/v1/profiles")).body, "profiles"), []);
    });

  it("is refused for its changes, too, and stores none", async () => {
    const lines = await aShop(1);
    const into = await opened();
    await refused(into, lines.get("changes")!);
    assert.deepEqual(listAt((await into.send("GET", "/v1/changes")).body, "changes"), []);
  });
});
