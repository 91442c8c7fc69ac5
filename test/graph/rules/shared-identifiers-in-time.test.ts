import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { identifierKey } from "../../../core/event/event.js";
import type { Member } from "../../../core/identity/model.js";
import { newId, type Uid } from "../../../core/ids.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { createIdentity } from "../../../graph/identity.js";
import { NO_RULES } from "../../../graph/rules/assert.js";
import { createMemoryGraph, createMemoryState } from "../../support/memory/graph.js";
import { aWorkspace, anIdentifier } from "../../support/identity/fixtures.js";

const READ_MS = 20;
const TIMEOUT_MS = 100;

describe("Shared identifiers, when most of the marked ones link again", () => {
  it("are looked for no longer than the call's time", async () => {
    const memory = createMemoryGraph(createMemoryState());
    let asked = 0;
    // A list without end, of which nothing is over the present limit.
    const graph: IdentityGraph = {
      ...memory,
      sharedIdentifiers: async (_workspace, { limit }) => {
        asked += 1;
        await sleep(READ_MS);
        return Array.from({ length: limit }, (_, n) => {
          return { uid: newId<Uid>(), identifier: anIdentifier(`m${n}`), isShared: true };
        });
      },
    };
    const rulesOf = async () => ({ ...NO_RULES, sharedIdentifierLimit: 5 });
    const identity = createIdentity({ graph, timeoutMs: TIMEOUT_MS, rulesOf });
    const listing = identity.sharedIdentifiers(aWorkspace(), { limit: 10, after: null });
    await assert.rejects(listing, { code: "unavailable" });
    await sleep(10 * READ_MS);
    const after = asked;
    assert.ok(after > 0);
    await sleep(20 * READ_MS);
    assert.equal(asked, after, "nothing is asked for when nobody waits any more");
  });

  it("are found however many do, some pages later", async () => {
    const marked = Array.from({ length: 3_000 }, (_, n): Member => {
      return { uid: String(n).padStart(4, "0") as Uid, identifier: anIdentifier(`m${n}`), isShared: true };
    });
    const workspace = aWorkspace();
    const last = marked.at(-1)!;
    const others = ["a", "b"].map((value) => identifierKey(workspace, anIdentifier(value)));
    const graph = {
      ...createMemoryGraph(createMemoryState()),
      sharedIdentifiers: async (_, { limit, after }) => {
        await sleep(1);
        return marked.filter(({ uid }) => after === null || uid > after).slice(0, limit);
      },
      read: async (_, { keys }) => {
        const seen = marked.filter(({ identifier }) => keys.includes(identifierKey(workspace, identifier)));
        const identifiers = seen.map(({ uid, identifier }) => {
          return [identifierKey(workspace, identifier), { uid, seenWith: uid === last.uid ? others : [] }] as const;
        });
        return { identifiers: new Map(identifiers) } as never;
      },
    } satisfies IdentityGraph;
    const rulesOf = async () => ({ ...NO_RULES, sharedIdentifierLimit: 1 });
    const identity = createIdentity({ graph, timeoutMs: 1_000, rulesOf });
    const found: Member[] = [];
    let pages = 0;
    for (let after: Uid | null = null; ; pages++) {
      const { members, next } = await identity.sharedIdentifiers(workspace, { limit: 10, after });
      found.push(...members);
      if (next === null) break;
      after = next;
    }
    assert.deepEqual([found, pages > 1], [[last], true]);
  });
});
