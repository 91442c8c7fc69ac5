import assert from "node:assert/strict";
import { exportProfiles } from "../../commands/exports/profiles.js";
import type { Services } from "../../commands/services.js";
import type { WorkspaceId } from "../../core/ids.js";
import { useApp } from "../support/service/app.js";

/** More than are read at a time. */
const LARGE = 150;

describe("An export of profiles", () => {
  const app = useApp();

  it("leaves a large one that merges into another meanwhile to that one, so that no identifier comes twice", async () => {
    const workspace = await app().workspace();
    const id = workspace.id as WorkspaceId;
    const identify = async (...names: readonly string[]) => {
      const identifiers = names.map((name) => ({ namespace: "email", value: `${name}@example.com` }));
      const { status, text } = await workspace.send("POST", "/v1/identify", { identifiers });
      assert.equal(status, 200, text);
    };
    const grow = async (name: string, size: number) => {
      for (let n = 0; n < size; n += 9) {
        const some = Array.from({ length: Math.min(9, size - n) }, (_, i) => `${name}-${n + i}`);
        await identify(`${name}-0`, ...some);
      }
    };
    // The older one survives, and it stands before the other in an export.
    await grow("older", 10);
    await grow("large", LARGE);
    const { identity, backends } = app().service;
    let isMerged = false;
    const members: Services["identity"]["members"] = async (...asked) => {
      const found = await identity.members(...asked);
      if (!isMerged) await identify("older-0", "large-0");
      isMerged = true;
      return found;
    };
    const all: string[] = [];
    const services = { identity: { ...identity, members }, profiles: backends.profiles };
    for await (const some of exportProfiles(services, id, null))
      for (const one of some) all.push(...one.members.map(({ identifier }) => identifier.value));
    assert.equal(isMerged, true);
    assert.deepEqual(all.toSorted(), Array.from({ length: 10 }, (_, n) => `older-${n}@example.com`).toSorted());
  });
});
