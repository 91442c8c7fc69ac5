import assert from "node:assert/strict";
import { createFindings } from "../../app/verify/findings.js";
import { verifyFeed } from "../../app/verify/feeds.js";
import { ALL, createTold, halvesOf, isIn } from "../../app/verify/told.js";
import { sizesAfter, type Entry } from "../../core/audience/seat.js";
import { newId, type AudienceId, type ProfileId, type WorkspaceId } from "../../core/ids.js";
import type { FeedHeadRow } from "../../core/ports/copying.js";
import type { Page } from "../../core/ports/port.js";

const AUDIENCE = newId<AudienceId>();
const WORKSPACE = newId<WorkspaceId>();
const entered = (profileId: ProfileId): Entry => {
  return { type: "entered", at: 1, audienceId: AUDIENCE, profileId, cause: "changed", into: null };
};

/** A feed in memory, and members who are stored, by id; `between` comes before each time that these are read. */
function aFeed(members: readonly ProfileId[], entries: Entry[], between: (times: number) => void = () => undefined) {
  const appended: number[] = [];
  let sizes = sizesAfter(new Map(), entries);
  let times = 0;
  const add = (more: readonly Entry[]): void => {
    entries.push(...more);
    sizes = sizesAfter(sizes, more);
  };
  const backends = {
    seats: {
      publish: async () => false,
      append: async (_workspace: WorkspaceId, _origin: string, more: readonly Entry[]) => {
        appended.push(more.length);
        add(more);
      },
      sizes: async () => ({ sizes, head: entries.length }),
      feed: async (_workspace: WorkspaceId, after: number, limit: number) => ({
        entries: entries.slice(after, after + limit).map((entry, n) => ({ seq: after + n + 1, entry })),
        head: entries.length,
        oldest: 1,
      }),
    },
    copying: {
      members: {
        seatsOf: async (_workspace: WorkspaceId, { limit, after }: Page<ProfileId>) => {
          if (after === null) between((times += 1));
          const from = after === null ? 0 : members.indexOf(after) + 1;
          const memberships = [[AUDIENCE, 1] as const];
          return members.slice(from, from + limit).map((profileId) => ({ profileId, memberships }));
        },
        mend: async (row: FeedHeadRow) => {
          if (row.head !== entries.length) return false;
          sizes = new Map(row.sizes);
          return true;
        },
      },
    },
  } as unknown as Parameters<typeof verifyFeed>[0]["backends"];
  const verify = async (isRepair: boolean, membersMax?: number): Promise<readonly string[]> => {
    const findings = createFindings();
    await verifyFeed({ backends, findings, isRepair, now: 2 }, WORKSPACE, membersMax);
    return findings.lines();
  };
  return { verify, add, appended, sizeOf: () => sizes.get(AUDIENCE), timesRead: () => times };
}

describe("npm run verify, of the feed", () => {
  it("adds what it lacks in parts that are read in one page each", async () => {
    const members = Array.from({ length: 2_500 }, () => newId<ProfileId>());
    const feed = aFeed(members, []);
    assert.match((await feed.verify(true)).join("\n"), /^wrong_feeds: 2500 .*; 2500 mended/);
    assert.deepEqual([feed.appended, feed.sizeOf()], [[1_000, 1_000, 500], 2_500]);
    assert.deepEqual(await feed.verify(false), []);
  });

  it("comes to the same in parts where it holds fewer members than there are, and reads again for each", async () => {
    const all = Array.from({ length: 1_200 }, () => newId<ProfileId>());
    const [lacking, gone] = [all.slice(0, 900), Array.from({ length: 900 }, () => newId<ProfileId>())];
    const left = (profileId: ProfileId): Entry => ({ ...entered(profileId), type: "left" }) as Entry;
    const entries = (): Entry[] => [
      ...[...all.slice(900), ...gone].map(entered),
      { type: "audience_deleted", at: 1, audienceId: AUDIENCE },
      ...[...all.slice(900), ...gone].map(entered),
      // Whoever is told of twice left once.
      ...gone.slice(0, 500).map(left),
      ...gone.slice(0, 100).map(entered),
    ];
    for (const membersMax of [800, 1_000_000]) {
      const feed = aFeed(all, entries());
      const wrong = lacking.length + 500;
      const line = new RegExp(`^wrong_feeds: ${wrong} [^\\n]*; ${wrong} mended [^\\n]*$`);
      assert.match((await feed.verify(true, membersMax)).join("\n"), line);
      // Twice for the members, and as often for the sizes.
      assert.equal(feed.timesRead() > 6, membersMax === 800);
      assert.equal(feed.sizeOf(), all.length);
      assert.deepEqual(await feed.verify(false, membersMax), []);
    }
  });

  it("knows how many members it holds, of its part alone, whatever the feed tells", () => {
    const halves = halvesOf(ALL);
    const profileIds = Array.from({ length: 100 }, () => newId<ProfileId>());
    const [some, others] = halves.map((part) => profileIds.filter((profileId) => isIn(part, profileId)));
    assert.equal(some!.length + others!.length, 100);
    assert.ok(some!.length > 1 && others!.length > 1);
    const told = createTold(halves[0]!);
    const other = newId<AudienceId>();
    for (const profileId of profileIds) told.store(profileId, [AUDIENCE, other]);
    assert.equal(told.size(), 2 * some!.length);
    const strange = newId<AudienceId>();
    const tell = (type: "entered" | "left", audienceId: AudienceId): void => {
      for (const profileId of profileIds) told.tell({ ...entered(profileId), type, audienceId } as Entry);
    };
    const sizes = (
      [
        ["entered", AUDIENCE],
        ["entered", strange],
        ["entered", strange],
        ["left", AUDIENCE],
        ["left", strange],
        ["left", strange],
        ["entered", strange],
      ] as const
    ).map(([type, audienceId]) => {
      tell(type, audienceId);
      return told.size() / some!.length;
    });
    assert.deepEqual(sizes, [2, 3, 3, 3, 2, 2, 3]);
    for (const audienceId of [AUDIENCE, strange]) told.tell({ type: "audience_deleted", at: 1, audienceId });
    assert.equal(told.size(), 2 * some!.length);
  });

  it("counts a profile once that lacks two audiences, and where one of them is mended with it", async () => {
    const profileId = newId<ProfileId>();
    const other: Entry = { ...entered(profileId), audienceId: newId<AudienceId>() } as Entry;
    for (const [isRepair, end] of [
      [false, ""],
      [true, "; 1 mended"],
    ] as const) {
      // It is in one of which the feed does not tell, and not in one of which it does.
      const [line] = await aFeed([profileId], [other]).verify(isRepair);
      assert.match(line!, new RegExp(`^wrong_feeds: 1 [^;]*${end} \\(${profileId}\\)$`));
    }
  });

  it("mends what the feed lacks and a wrong size of the same audience at once", async () => {
    const [told, lacking] = [newId<ProfileId>(), newId<ProfileId>()];
    const feed = aFeed([told, lacking], [entered(told), entered(told)]);
    await feed.verify(true);
    assert.equal(feed.sizeOf(), 2);
  });

  it("judges no size while members come and go, and counts when it is still", async () => {
    const [one, other] = [newId<ProfileId>(), newId<ProfileId>()];
    const moving = aFeed([one], [entered(one)], () => moving.add([entered(one)]));
    assert.deepEqual(await moving.verify(false), ["not compared: 1 sizes of audiences whose members kept changing"]);
    // Both looks are over when somebody comes once more.
    const still = aFeed([one, other], [entered(one), entered(other), entered(other)], (times) => {
      if (times === 4) still.add([entered(one)]);
    });
    assert.match((await still.verify(true)).join("\n"), /^wrong_sizes: 1 .*; 1 mended/);
    assert.equal(still.sizeOf(), 2);
  });

  it("says so where members came or went during the second look alone, or each time that it counted", async () => {
    const [one, other] = [newId<ProfileId>(), newId<ProfileId>()];
    const twice = [entered(one), entered(other), entered(other)];
    const second = aFeed([one, other], [...twice], (times) => {
      if (times === 3) second.add([entered(one)]);
    });
    assert.deepEqual(await second.verify(false), ["not compared: 1 sizes of audiences whose members kept changing"]);
    const counted = aFeed([one, other, newId<ProfileId>()], [...twice], (times) => {
      if (times > 4) counted.add([entered(one)]);
    });
    const lines = await counted.verify(true);
    assert.match(lines[0]!, /^wrong_feeds: 1 .*; 1 mended/);
    assert.deepEqual(lines.slice(1), ["not compared: 1 sizes of audiences whose members kept changing"]);
  });
});
