import assert from "node:assert/strict";
import { lookAt, type Found, type LookSteps } from "../../../core/audience/look.js";
import type { Entry, Seat } from "../../../core/audience/seat.js";
import type { AudienceId, ProfileId } from "../../../core/ids.js";
import { explore, type Actor, type Scene, type Step } from "../../support/explore/explore.js";

const PROFILE = "p" as ProfileId;
const AUDIENCE = "a" as AudienceId;

/** One profile with one number, one audience that asks for at least so much, and everything that is stored of the two. */
interface World {
  value: number;
  least: number;
  /** Fresh each time; null: nobody has to look. */
  mark: number | null;
  fresh: number;
  claim: number | null;
  seat: Seat;
  entries: readonly Entry[];
  /** A rule was stored by which the profile has not been judged. */
  isBuilding: boolean;
}

/** Left out or swapped one at a time, to see that the explorer finds what it is there for. */
interface Broken {
  readonly readsFirst?: boolean;
  readonly rulesFirst?: boolean;
  readonly clearsLost?: boolean;
  readonly countsMarks?: boolean;
}

function stepsOf(step: Step<World>, broken: Broken): LookSteps<number> {
  let mine = 0;
  let early: World | null = null;
  const foundIn = (value: number, least: number): Found => ({
    kind: "live",
    judged: [{ audienceId: AUDIENCE, is: value >= least, until: Infinity, cause: null }],
  });
  return {
    claim: async () => {
      if (broken.readsFirst === true || broken.rulesFirst === true) early = await step("read too early", copyOf);
      return step("claim", (world) => {
        mine = world.fresh += 1;
        world.claim = mine;
        return [world.seat];
      });
    },
    rules: async () => (broken.rulesFirst === true ? early!.least : step("rules", ({ least }) => least)),
    judge: async (_, least) => [
      foundIn(broken.readsFirst === true ? early!.value : await step("read", valueIn), least),
    ],
    save: ([save]) =>
      step("save", (world) => {
        if (world.claim !== mine) return [false];
        world.claim = null;
        world.seat = save!.seat;
        world.entries = [...world.entries, ...save!.entries];
        return [true];
      }),
  };
}

const copyOf = (world: World): World => ({ ...world });
const valueIn = ({ value }: World): number => value;

const look = (step: Step<World>, broken: Broken): Promise<ReadonlySet<ProfileId>> =>
  lookAt(stepsOf(step, broken), new Map([[PROFILE, "changed" as const]]), 1);

/** Two that take turns could go on for ever, so each looks so often at most. What is left to do then is not at rest. */
const ROUNDS = 2;

/** Whoever finds the mark looks. */
const looker = (name: string, broken: Broken, crashes = 0): Actor<World> => ({
  name,
  crashes,
  run: async (step) => {
    for (let round = 0; round < ROUNDS; round++) {
      const mark = await step("take the mark", (world) => world.mark);
      if (mark === null) continue;
      const saved = await look(step, broken);
      if (saved.size > 0 || broken.clearsLost === true)
        await step("clear", (world) => {
          if (world.mark === mark) world.mark = null;
        });
    }
  },
});

const folder = (broken: Broken, folds: number): Actor<World> => ({
  name: "worker",
  run: async (step) => {
    for (let n = 0; n < folds; n++) {
      await step("fold", (world) => void (world.value += 1));
      await step("mark", (world) => {
        if (broken.countsMarks === true) world.mark = (world.mark ?? 0) + 1;
        else world.mark = world.fresh += 1;
      });
    }
  },
});

/** Stores a new rule, and then builds: a page that lost a look is done again. */
const editor = (broken: Broken): Actor<World> => ({
  name: "editor",
  run: async (step) => {
    await step("new rule", (world) => {
      world.least = 1;
      world.isBuilding = true;
    });
    for (let round = 0; round < ROUNDS; round++) {
      const saved = await look(step, broken);
      if (saved.size > 0) {
        await step("built", (world) => void (world.isBuilding = false));
        return;
      }
    }
  },
});

/** The rule changes among the writers, or the profile changes twice: both together have too many orders. */
const sceneOf = (broken: Broken = {}, isEdited = true): Scene<World> => ({
  world: () => ({
    value: 0,
    least: isEdited ? 9 : 2,
    mark: null,
    fresh: 0,
    claim: null,
    seat: { profileId: PROFILE, memberships: [], untils: [] },
    entries: [],
    isBuilding: false,
  }),
  actors: isEdited
    ? [folder(broken, 1), editor(broken), looker("looker", broken, 1)]
    : [folder(broken, 2), looker("first", broken, broken.clearsLost === true ? 1 : 0), looker("second", broken)],
  always: ({ entries }) =>
    entries.every(({ type }, n) => type === (n % 2 === 0 ? "entered" : "left")) ? null : "entries do not alternate",
  atRest: ({ value, least, mark, isBuilding, seat, entries }) => {
    if (mark !== null || isBuilding) return null;
    const is = seat.memberships.length > 0;
    if (is !== value >= least) return `the seat says ${is} of ${value} >= ${least}`;
    return (entries.length % 2 === 1) === is ? null : "the feed says something else than the seat";
  },
});

describe("Claim, read, save, in every order of two writers and two lookers, with crashes", () => {
  it("leaves the seat as the rule judges the profile", async function () {
    this.timeout(60_000);
    for (const isEdited of [true, false]) {
      const { states, violation } = await explore(sceneOf({}, isEdited));
      assert.equal(violation, null, JSON.stringify(violation));
      assert.ok(states > 1_000, `${states}`);
    }
  });

  for (const [name, broken, isEdited] of [
    ["the profile is read before the claim", { readsFirst: true }, false],
    ["the rules are read before the claim", { rulesFirst: true }, true],
    ["a mark is cleared though the save was lost", { clearsLost: true }, false],
    ["marks are counted instead of named", { countsMarks: true }, false],
  ] as const)
    it(`does not when ${name}`, async function () {
      this.timeout(60_000);
      const { violation } = await explore(sceneOf(broken, isEdited));
      assert.match(violation?.what ?? "", /^the seat says/);
    });
});
