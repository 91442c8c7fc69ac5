import assert from "node:assert/strict";
import { askedOf, lookAt, type LookSteps } from "../../../core/audience/look.js";
import { dueOf, stays, type Cause, type Entry, type Judged, type Seat } from "../../../core/audience/seat.js";
import type { AudienceId, ProfileId } from "../../../core/ids.js";
import { explore, type Actor, type Scene, type Step } from "../../support/explore/explore.js";

const PROFILE = "p" as ProfileId;
/** Each with the time until which somebody is in it whose number is not 0; `ever`: as long as it is not 0. */
const AUDIENCES = [
  ["short", 1],
  ["long", 2],
  ["ever", Infinity],
] as const;

/** One profile with one number, and everything that is stored of it. */
interface World {
  time: number;
  value: number;
  /** Fresh each time; null: nobody has to look. */
  mark: number | null;
  fresh: number;
  claim: number | null;
  seat: Seat;
  entries: readonly Entry[];
}

/** Swapped one at a time, to see that the explorer finds what it is there for. */
interface Broken {
  readonly forgets?: boolean;
  readonly clearsMarks?: boolean;
  readonly savesLost?: boolean;
}

const isIn = (value: number, end: number, time: number): boolean => value !== 0 && time < end;

function stepsOf(step: Step<World>, cause: Cause, now: number, broken: Broken): LookSteps<null> {
  let mine = 0;
  return {
    claim: () =>
      step("claim", (world) => {
        mine = world.fresh += 1;
        world.claim = mine;
        return [world.seat];
      }),
    rules: async () => null,
    judge: async ([seat]) => {
      const value = await step("read", (world) => world.value);
      const asked = askedOf(seat!, cause, now);
      const judged = AUDIENCES.map(([name, end]): Judged => {
        const audienceId = name as string as AudienceId;
        if (asked !== null && !asked.includes(audienceId))
          return broken.forgets === true ? { ...stays(audienceId), until: Infinity } : stays(audienceId);
        const is = isIn(value, end, now);
        return { audienceId, is, until: is ? end : Infinity, cause: null };
      });
      return [{ kind: "live", judged }];
    },
    save: ([save]) =>
      step("save", (world) => {
        if (world.claim !== mine && broken.savesLost !== true) return [false];
        world.claim = null;
        world.seat = save!.seat;
        world.entries = [...world.entries, ...save!.entries];
        return [true];
      }),
  };
}

async function look(step: Step<World>, cause: Cause, broken: Broken): Promise<boolean> {
  const now = await step("clock", ({ time }) => time);
  const saved = await lookAt(stepsOf(step, cause, now, broken), new Map([[PROFILE, cause]]), now);
  return saved.size > 0;
}

/** Two that take turns could go on for ever, so each looks so often at most. What is left to do then is not at rest. */
const ROUNDS = 2;

const clear = (step: Step<World>, mark: number | null): Promise<void> =>
  step("clear", (world) => {
    if (world.mark === mark) world.mark = null;
  });

/** Whoever finds the mark looks. */
const follower = (broken: Broken): Actor<World> => ({
  name: "follower",
  run: async (step) => {
    for (let round = 0; round < ROUNDS; round++) {
      const mark = await step("take the mark", (world) => world.mark);
      if (mark !== null && (await look(step, "changed", broken))) await clear(step, mark);
    }
  },
});

/** Whoever finds that its time has come looks. */
const waker = (broken: Broken): Actor<World> => ({
  name: "waker",
  crashes: 1,
  run: async (step) => {
    for (let round = 0; round < ROUNDS; round++) {
      const { isDue, mark } = await step("ask who is due", ({ seat, time, mark: its }) => {
        return { isDue: (dueOf(seat) ?? Infinity) <= time, mark: its };
      });
      if (isDue && (await look(step, "time", broken)) && broken.clearsMarks === true) await clear(step, mark);
    }
  },
});

const folder: Actor<World> = {
  name: "worker",
  run: async (step) => {
    await step("fold", (world) => void (world.value = 0));
    await step("mark", (world) => void (world.mark = world.fresh += 1));
  },
};

const clock: Actor<World> = {
  name: "clock",
  run: async (step) => {
    for (const time of [1, 2]) await step(`it is ${time}`, (world) => void (world.time = time));
  },
};

const idOf = ([name]: (typeof AUDIENCES)[number]): AudienceId => name as string as AudienceId;

const sceneOf = (broken: Broken = {}, isFolded = true): Scene<World> => ({
  world: () => ({
    time: 0,
    value: 1,
    mark: null,
    fresh: 0,
    claim: null,
    seat: {
      profileId: PROFILE,
      memberships: AUDIENCES.map((one) => ({ audienceId: idOf(one), since: 0 })),
      untils: [AUDIENCES[0], AUDIENCES[1]].map((one) => ({ audienceId: idOf(one), until: one[1] })),
    },
    entries: [],
  }),
  actors: [...(isFolded ? [folder, follower(broken)] : []), clock, waker(broken)],
  always: ({ entries }) => {
    const left = entries.filter(({ type }) => type === "left");
    return left.length === entries.length && left.length <= AUDIENCES.length ? null : "somebody left twice";
  },
  atRest: ({ time, value, mark, seat, entries }) => {
    if (mark !== null || (dueOf(seat) ?? Infinity) <= time) return null;
    const told = new Set(entries.map((entry) => "audienceId" in entry && entry.audienceId));
    for (const one of AUDIENCES) {
      const is = seat.memberships.some(({ audienceId }) => audienceId === idOf(one));
      if (is !== isIn(value, one[1], time)) return `the seat says ${is} of ${one[0]} at ${time}`;
      if (is === told.has(idOf(one))) return "the feed says something else than the seat";
    }
    return null;
  },
});

describe("Looks because time has passed, beside a worker and other looks, in every order", () => {
  for (const isFolded of [true, false])
    it(`leave the seat as the rules judge the profile, ${isFolded ? "which changes" : "which stays as it is"}`, async function () {
      this.timeout(60_000);
      const { states, violation } = await explore(sceneOf({}, isFolded));
      assert.equal(violation, null, JSON.stringify(violation));
      assert.ok(states > (isFolded ? 1_000 : 50), `${states}`);
    });

  for (const [name, broken, isFolded, what] of [
    ["they forget when the others are due", { forgets: true }, false, /^the seat says true of long at 2/],
    ["they clear the mark of a change", { clearsMarks: true }, true, /^the seat says true/],
    ["they save though another look began", { savesLost: true }, true, /^the seat says|^somebody left twice/],
  ] as const)
    it(`do not when ${name}`, async function () {
      this.timeout(60_000);
      const { violation } = await explore(sceneOf(broken, isFolded));
      assert.match(violation?.what ?? "", what);
    });
});
