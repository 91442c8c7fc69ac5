import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { identifierKey } from "../../../core/event/event.js";
import type { WorkspaceId } from "../../../core/ids.js";
import type { Client } from "../../../graph/neo4j/client.js";
import { createLook } from "../../../graph/neo4j/read.js";
import { NO_RULES } from "../../../graph/rules/assert.js";
import { createHiddenKeys } from "../../../graph/rules/hidden-keys.js";
import { readSetWith } from "../../../graph/rules/read-set.js";
import { tombOf } from "../../support/builders.js";
import { aWorkspace, anIdentifier } from "../../support/identity/fixtures.js";

describe("Reads with rules in Neo4j", () => {
  it("are made in turns of the workspaces: one that asks hundreds of times keeps no other waiting", async () => {
    let [reads, atOnce, most] = [0, 0, 0];
    const read: Client["read"] = async () => {
      reads += 1;
      atOnce += 1;
      most = Math.max(most, atOnce);
      await sleep(5);
      atOnce -= 1;
      return [[[], [], [], false]];
    };
    const look = createLook({ read } as Client, { tombOf, hiddenKeys: createHiddenKeys(tombOf) });
    const ask = (workspace: WorkspaceId) => {
      const keys = [identifierKey(workspace, anIdentifier("shared"))];
      return look(workspace, readSetWith({ keys, pairs: [] }, { ...NO_RULES, sharedIdentifierLimit: 5 }));
    };
    const [greedy, other] = [aWorkspace(), aWorkspace()];
    const all = Array.from({ length: 100 }, () => ask(greedy));
    await ask(other);
    assert.ok(reads <= 6, `answered behind ${reads} reads`);
    await Promise.all(all);
    assert.deepEqual([reads, most], [101, 3]);
  });
});
