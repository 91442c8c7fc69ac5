import assert from "node:assert/strict";
import { exportLinks } from "../../commands/exports/links.js";
import type { WorkspaceId } from "../../core/ids.js";
import { useApp } from "../support/service/app.js";

const identifiers = ["a", "b", "c", "d"].map((name) => ({ namespace: "email", value: `${name}@example.com` }));

describe("An export of links", () => {
  const app = useApp();

  it("that goes on behind any of its lines of what was removed leaves out none", async () => {
    const workspace = await app().workspace();
    const id = workspace.id as WorkspaceId;
    assert.equal((await workspace.send("POST", "/v1/identify", { identifiers })).status, 200);
    const { status, text } = await workspace.send("POST", "/v1/identity/unlink", { identifier: identifiers[0] });
    assert.equal(status, 200, text);
    const services = { identity: app().service.identity };
    const all = [];
    for await (const some of exportLinks(services, id, null)) all.push(...some);
    const texts = (some: readonly object[]) =>
      some.map((one) =>
        JSON.stringify({ ...one, place: null }, (_, value: unknown) => (value instanceof Map ? [...value] : value)),
      );
    const removed = all.filter((one) => "place" in one);
    assert.ok(removed.length > 1, "the change has several lines");
    for (const [n, one] of removed.entries()) {
      const rest: object[] = [];
      for await (const some of exportLinks(services, id, one.place)) rest.push(...some);
      const lacking = texts(removed.slice(n + 1)).filter((line) => !texts(rest).includes(line));
      assert.deepEqual(lacking, [], `behind line ${n}`);
    }
  });
});
