import assert from "node:assert/strict";
import { createSides } from "../../commands/sdk/accept-items.js";
import type { Caller, Services } from "../../commands/services.js";
import { newId, type WorkspaceId } from "../../core/ids.js";
import type { Mapped } from "../../core/sdk/item.js";
import { aNamespace } from "../support/builders.js";

const CALLS = 1_000;
const known = { namespace: "user_id", value: "+4930123456" };
const alias = (previous: string, index: number): Mapped =>
  ({
    kind: "item",
    item: { index, identifiers: [{ path: "userId", ...known }], alias: { previous, known } },
  }) as unknown as Mapped;

/** How many turns of the event loop there were meanwhile. */
async function turnsOf(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  const turn = (): void => {
    turns += 1;
    next = setImmediate(turn);
  };
  let next = setImmediate(turn);
  await work();
  clearImmediate(next);
  return turns;
}

describe("The aliases of a request", () => {
  it("are decided in many turns of the event loop where it takes long to read whom each names", async () => {
    const services = {
      catalog: { namespaces: async () => [aNamespace({ name: "user_id", normalization: "phone" })] },
      identity: { lookup: async (_: unknown, asked: readonly unknown[]) => asked.map(() => null) },
    } as unknown as Services;
    const caller: Pick<Caller, "workspace" | "send"> = { workspace: newId<WorkspaceId>(), send: "collect" };
    const aliases = Array.from({ length: CALLS }, (_, n) => alias(`+44 (0)20 7946 ${1_000 + n}`, n));
    const turns = await turnsOf(() => createSides(services, caller, aliases));
    assert.ok(turns >= 5, `${turns} turns`);
  });
});
