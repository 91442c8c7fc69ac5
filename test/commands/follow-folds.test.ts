import assert from "node:assert/strict";
import { followFolds, lastSeen, type FollowDeps } from "../../commands/audiences/follow.js";
import { NO_AUDIENCES, type AudienceSet } from "../../core/audience/audience.js";
import type { StoredEvent } from "../../core/event/event.js";
import { newId, type SchemaId, type TallyId, type Uid, type WorkspaceId } from "../../core/ids.js";
import { anEvent } from "../support/builders.js";

const LONG = 100_000;

/** Each workspace has one tally, with a long list in it. */
const setOf = (version: string): AudienceSet => ({
  ...NO_AUDIENCES,
  version,
  tallies: [
    {
      tallyId: newId<TallyId>(),
      tally: {
        schemaId: "order" as SchemaId,
        where: [{ path: ["n"], test: { op: "$in", values: ["x".repeat(LONG)] } }],
        sum: null,
      },
      filling: null,
    },
  ],
});

const eventOf = (workspace: WorkspaceId): StoredEvent => ({
  ...anEvent({ workspace }),
  status: "folded",
  facet: null,
  profileIdThen: null,
  reason: null,
});

describe("Workers that fold events by the audiences that they saw last", () => {
  const workspaces = Array.from({ length: 200 }, () => newId<WorkspaceId>());
  const sets = new Map(workspaces.map((workspace) => [workspace, setOf("1")]));
  const deps = {
    audiences: { audiences: async (workspace: WorkspaceId) => sets.get(workspace)! },
    marks: { mark: async () => undefined },
    tallies: { count: async () => undefined, uncount: async () => undefined },
    now: () => 1,
  } as unknown as FollowDeps;
  const follow = (workspace: WorkspaceId) =>
    followFolds(deps, workspace, [{ event: eventOf(workspace), facet: newId<Uid>() }], lastSeen(deps, workspace));
  const seen = () => workspaces.filter((workspace) => lastSeen(deps, workspace).tallies.length > 0);

  it("keep the tallies of those that they met last, up to 8 MiB, and nothing else of them", async () => {
    for (const workspace of workspaces) await follow(workspace);
    const kept = seen();
    assert.ok(kept.length > 50 && kept.length * LONG <= 8 * 1_048_576, `${kept.length} are kept`);
    assert.deepEqual(kept, workspaces.slice(-kept.length));
    const last = kept.at(-1)!;
    assert.deepEqual(lastSeen(deps, last), { version: "1", tallies: sets.get(last)!.tallies });
  });

  it("follow a change, also to none", async () => {
    const last = workspaces.at(-1)!;
    for (const next of [setOf("2"), { ...NO_AUDIENCES, version: "3" }]) {
      sets.set(last, next);
      await follow(last);
      assert.deepEqual(lastSeen(deps, last).tallies, next.tallies);
    }
  });
});
