import assert from "node:assert/strict";
import { createSuspects } from "../../store/queue/suspects.js";
import { ALONE_FROM, crashesOnReturn, goesAlone, TOGETHER_MAX } from "../../store/queue/crashes.js";
import { createSchedule, type Batch, type Waiting } from "../../store/queue/schedule.js";
import { createRandom, runsOf, SEED, tell, type Random } from "../support/random/random.js";
import { brokerMoves, newBroker, type Broker, type Law } from "../support/explore/broker.js";
import { reach } from "../support/explore/reach.js";

/** Of the processes in these tests; more makes no other case. */
const CRASHES_MAX = 4;

interface Message extends Waiting {
  readonly name: number;
  readonly isPoison: boolean;
}

/** One process after the other on the embedded queue, each until it dies of a poison: a crash counts for what was in hand. */
class Lives {
  readonly crashes = new Map<number, number>();
  deaths = 0;
  alone = 0;
  constructor(
    readonly messages: readonly Message[],
    readonly random: Random,
  ) {
    for (const { name } of messages) this.crashes.set(name, 0);
  }

  live(): void {
    const schedule = createSchedule<Message>({ batchMax: 64 });
    for (const message of this.messages) {
      const crashes = this.crashes.get(message.name);
      if (crashes !== undefined) schedule.hold({ ...message, crashes });
    }
    const underWay: Batch<Message>[] = [];
    while (this.crashes.size > 0) {
      const batch = underWay.length === 0 || this.random.below(2) === 0 ? schedule.take() : null;
      if (batch !== null) this.check(batch, underWay.push(batch));
      if (batch !== null || underWay.length === 0) continue;
      const [ended] = underWay.splice(this.random.below(underWay.length), 1);
      if (ended!.items.some(({ isPoison, crashes }) => isPoison && crashes <= CRASHES_MAX)) {
        for (const { name, crashes } of schedule.inHand()) this.crashes.set(name, crashes + 1);
        this.deaths += 1;
        return;
      }
      for (const { name } of ended!.items) this.crashes.delete(name);
      schedule.ended(ended!, 0);
    }
  }

  check({ items }: Batch<Message>, underWay: number): void {
    const most = Math.max(...items.map(({ crashes }) => crashes));
    if (most >= ALONE_FROM) this.alone += 1;
    assert.ok(most < ALONE_FROM || (items.length === 1 && underWay === 1), "alone, with nothing beside it");
    assert.ok(most === 0 || items.length <= TOGETHER_MAX);
    assert.ok(items.every(({ isPoison, crashes }) => isPoison || crashes <= ALONE_FROM));
  }
}

describe("What processes die on", () => {
  it(`is found in the embedded queue, however many kill: no other is blamed for more than two (seed ${SEED})`, () => {
    const random = createRandom(SEED);
    for (let run = 0; run < runsOf(100); run += 1) {
      const poisons = random.below(5);
      const messages = Array.from({ length: 200 }, (_, name) => ({
        name,
        isPoison: name % 40 === 7 && name < 40 * poisons,
        workspace: `w${random.below(3)}`,
        bytes: 1,
        crashes: 0,
        dueAt: 0,
      }));
      const lives = new Lives(messages, random);
      while (lives.crashes.size > 0) lives.live();
      assert.ok(lives.deaths <= poisons * (CRASHES_MAX + 1), `${lives.deaths} deaths`);
      assert.ok(poisons > 0 || lives.alone === 0);
    }
  });

  const LAW: Law = { crashesOnReturn, goesAlone, suspectsHeld: 1 };
  const ALL = { names: ["x", "p", "y"], kills: 0, tears: 0 };
  /** The most crashes of one that does not kill, in every order of what two workers do; whether each ends where it belongs. */
  const explored = (law: Law, { names, ...change } = ALL) => {
    let [most, isRight] = [0, true];
    const isPoison = (name: string): boolean => name.startsWith("p");
    const states = reach({ ...newBroker(names), ...change }, (broker) => {
      for (const { name, crashes } of [...broker.places.retry, ...broker.places.suspects])
        if (!isPoison(name)) most = Math.max(most, crashes);
      const next = brokerMoves(broker, law, CRASHES_MAX);
      isRight &&= broker.letters.every(isPoison) && (next.length > 0 || areThrough(broker, names));
      return isRight ? next : [];
    });
    tell(`${states} states, at most ${most} crashes`);
    return { most, isRight };
  };
  const areThrough = ({ folded, letters }: Broker, names: readonly string[]): boolean =>
    folded.length + letters.length === names.length;

  it("is found in RabbitMQ by two workers, each of which is blamed for all that it holds: no other has more than two", () => {
    assert.deepEqual(explored(LAW), { most: ALONE_FROM, isRight: true });
  });

  it("costs another one no crash more for a copy whose original is still there, and one for a worker that dies of something else", () => {
    const few = { ...ALL, names: ["x", "p"] };
    assert.deepEqual(explored(LAW, { ...few, tears: 1 }), { most: ALONE_FROM, isRight: true });
    assert.deepEqual(explored(LAW, { ...few, kills: 1 }), { most: ALONE_FROM + 1, isRight: true });
  });

  it("is not found where nothing goes alone, where a worker holds two of those, or where each return counts", () => {
    assert.ok(!explored({ ...LAW, goesAlone: () => false }).isRight);
    assert.ok(!explored({ ...LAW, suspectsHeld: 2 }).isRight);
    assert.ok(!explored({ ...LAW, crashesOnReturn: (counted, returns) => counted + returns }).isRight);
  });
});

describe("What goes alone", () => {
  /** One of a workspace whose graph is away is tried, and postponed, at 0; what then goes at which time. */
  const after = (tookMs: number, tries = 1) => {
    const suspects = createSuspects<{ readonly workspace: string; readonly crashes: number }>();
    const [away, quiet] = [
      { workspace: "away", crashes: 2 },
      { workspace: "quiet", crashes: 3 },
    ];
    let time = 0;
    const next = (at: number): string | null => (suspects.canGo((time = at)) ? suspects.next(at).workspace : null);
    for (let n = 0; n < tries; n += 1) {
      suspects.add(away);
      assert.equal(next(time + 1_000_000 * n), "away");
      suspects.tried("away", time, { until: time + 4 * tookMs, othersMs: 4 * tookMs });
    }
    for (const one of [away, quiet]) suspects.add(one);
    return (ms: number): string | null => next(Math.floor(time / 1_000_000) * 1_000_000 + ms);
  };

  it("of a workspace of which nothing else is handled has its turn before the next try of one that is away", () => {
    const next = after(10_000);
    assert.deepEqual([next(39_999), next(40_001), next(40_002), next(60_001)], [null, "quiet", null, "away"]);
  });

  it("has it also where the try was short, and then soon after it", () => {
    const next = after(100);
    assert.deepEqual([next(399), next(401), next(599), next(601)], [null, "quiet", null, "away"]);
  });

  it("rests longer after each try in vain", () => {
    const next = after(10_000, 3);
    assert.deepEqual([next(40_001), next(119_999), next(120_001)], ["quiet", null, "away"]);
  });
});
