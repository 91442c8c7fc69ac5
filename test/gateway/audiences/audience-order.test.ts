import assert from "node:assert/strict";
import { createAudience } from "../../../commands/audiences/change.js";
import type { WorkspaceId } from "../../../core/ids.js";
import { listAt, textAt, useApp } from "../../support/service/app.js";

describe("The list of audiences", () => {
  const app = useApp();

  it("leaves none out between pages, whichever of two that are made at once is stored first", async () => {
    const workspace = await app().workspace();
    const ports = { ...app().service.backends, movements: app().service.backends.graph };
    const caller = { workspace: workspace.id as WorkspaceId, now: Date.now() };
    const rule = { "traits.city": "Paris" };
    await workspace.schema({ properties: { city: { type: "string", "x-trait": { name: "city" } } } });
    const movements: typeof ports.movements = {
      ...ports.movements,
      watch: async (id) => {
        await createAudience(ports, caller, { name: "second", rule });
        await ports.movements.watch(id);
      },
    };
    await createAudience({ ...ports, movements }, caller, { name: "first", rule });
    const first = await workspace.send("GET", "/v1/audiences?limit=1");
    const rest = await workspace.send("GET", `/v1/audiences?cursor=${textAt(first.body, "next_cursor")}`);
    const names = [first, rest].flatMap(({ body }) => listAt(body, "audiences").map((one) => textAt(one, "name")));
    assert.deepEqual(names, ["first", "second"]);
  });
});
