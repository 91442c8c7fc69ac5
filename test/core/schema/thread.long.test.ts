import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { AppError } from "../../../core/errors.js";
import type { SchemaId } from "../../../core/ids.js";
import { openValidationThread } from "../../../core/schema/thread/thread.js";
import { openValidator } from "../../../core/schema/validation/validator.js";
import { eventually } from "../../support/eventually.js";
import { aSchema, bytesOf, doublingSchema, refusal, treeSchema } from "../../support/schemas.js";
import { assertWithin, timeOf } from "../../support/house/yardstick.js";

/** So that a busy machine is no reason to refuse. */
const PATIENT_MS = 40_000;

const slow = (name: string) => aSchema(doublingSchema(), { schemaId: name as SchemaId });

describe("A schema that is too slow", () => {
  const tree = aSchema(treeSchema, { schemaId: "tree" as SchemaId });
  const payload = { slow: 1 };
  const wrong = { name: 1 };

  it("is stopped in time, without holding up the event loop, and its neighbours are still answered", async () => {
    const validator = openValidator({ waitMs: PATIENT_MS, compileMs: 2_000, validationMs: 300 });
    let longestMs = 0;
    let last = performance.now();
    const pulse = setInterval(() => {
      longestMs = Math.max(longestMs, performance.now() - last);
      last = performance.now();
    }, 5);
    try {
      await validator.thread.examine("{}");
      const schema = slow("slow");
      assert.equal(schema.linear, false);
      const before = performance.now();
      const refused = refusal("schema_too_expensive", () => validator.check(schema, payload, bytesOf(payload)));
      const neighbours = Array.from({ length: 40 }, async () => validator.check(tree, wrong, bytesOf(wrong)));
      await refused;
      const tookMs = performance.now() - before;
      assert.ok(tookMs >= 299, `${Math.round(tookMs)} ms`);
      await assertWithin(2_000, () => tookMs);
      for (const items of await Promise.all(neighbours))
        assert.deepEqual(items, [{ path: "name", message: "must be string" }]);
      const heldMs = longestMs;
      await assertWithin(250, () => heldMs, "the longest turn of the event loop");
    } finally {
      clearInterval(pulse);
      await validator.close();
    }
  });

  it("is refused for the payload alone: good ones are answered after any number of slow ones", async () => {
    const validator = openValidator({ waitMs: PATIENT_MS, compileMs: 2_000, validationMs: 30 });
    try {
      const schema = slow("struck");
      for (let n = 0; n < 4; n += 1)
        await refusal("schema_too_expensive", () => validator.check(schema, { slow: n }, bytesOf({ slow: n })));
      for (let times = 0; times < 5; times += 1) assert.deepEqual(await validator.check(schema, {}, bytesOf({})), []);
      assert.deepEqual(await validator.checkAll(schema, bytesOf({})), []);
    } finally {
      await validator.close();
    }
  });

  it("is refused at once when the same payload comes again, until that is some time ago", async () => {
    const validator = openValidator({ waitMs: PATIENT_MS, compileMs: 2_000, validationMs: 400, refusedMs: 600 });
    try {
      const schema = slow("again");
      const run = () => validator.check(schema, payload, bytesOf(payload));
      const timed = () => timeOf(() => refusal("schema_too_expensive", run));
      await timed();
      assert.ok((await timed()) < 350, "a try of its own would take 400 ms");
      await sleep(700);
      assert.ok((await timed()) >= 399, "it is tried anew");
    } finally {
      await validator.close();
    }
  });
});

describe("The validation thread", () => {
  it("falls back to the first problem when all of them take too long", async () => {
    const validator = openValidator({ waitMs: PATIENT_MS, compileMs: 2_000, validationMs: 100 });
    try {
      const branches = Array.from({ length: 200 }, (_, at) => ({ type: "string", minLength: at }));
      const schema = aSchema(
        { properties: { a: { items: { allOf: branches } } } },
        { schemaId: "costly" as SchemaId, linear: false },
      );
      const items = await validator.checkAll(schema, bytesOf({ a: Array.from({ length: 60_000 }, () => 1) }));
      assert.deepEqual(items, [
        { path: "a.0", message: "must be string" },
        { path: "", message: "there are more problems than the 1 shown" },
      ]);
    } finally {
      await validator.close();
    }
  });

  it("refuses nobody because this event loop was late to look", async () => {
    const validator = openValidator({ waitMs: PATIENT_MS, compileMs: 2_000, validationMs: 100 });
    try {
      const tree = aSchema(treeSchema);
      await validator.check(tree, {}, bytesOf({}));
      // From here the event loop comes to its timers first and to messages after.
      await new Promise((resolve) => setImmediate(resolve));
      const answer = validator.check(tree, { name: 1 }, bytesOf({ name: 1 }));
      const next = refusal("schema_too_expensive", () =>
        validator.check(slow("next"), { slow: 1 }, bytesOf({ slow: 1 })),
      );
      const until = performance.now() + 400;
      while (performance.now() < until);
      assert.equal((await answer).length, 1);
      await next;
      assert.ok(performance.now() - until > 90, "the next one had no time of its own");
    } finally {
      await validator.close();
    }
  });

  it("refuses with unavailable what has waited too long, at the time that it said", async () => {
    const thread = openValidationThread({ compileMs: 300, validationMs: 100, waitMs: 200 });
    try {
      // On a busy machine its start alone may take longer than a job waits.
      await eventually("the thread runs", () => thread.examine("{}").then(Boolean, () => false));
      const schema = JSON.stringify(doublingSchema());
      const before = performance.now();
      const codes = await Promise.all(
        Array.from({ length: 12 }, async (_, at) => {
          const request = { key: `slow${at}`, schema, payload: bytesOf({ slow: 1 }), all: null };
          const error = await thread.validate(request).catch((reason: unknown) => reason);
          return (error as { code: string }).code;
        }),
      );
      assert.equal(codes.at(-1), "unavailable");
      // On a busy machine the first one too may not get its time before its wait is over.
      assert.deepEqual(new Set(["schema_too_expensive", ...codes]), new Set(["schema_too_expensive", "unavailable"]));
      const tookMs = performance.now() - before;
      await assertWithin(1_500, () => tookMs);
    } finally {
      await thread.close();
    }
  });

  it("refuses what waits when it closes, and everything afterwards", async () => {
    const validator = openValidator({ waitMs: PATIENT_MS, compileMs: 2_000, validationMs: 1_000 });
    const tree = aSchema(treeSchema);
    const waiting = refusal("unavailable", () => validator.check(tree, {}, bytesOf({})));
    await validator.close();
    await waiting;
    await assertWithin(100, () => timeOf(() => refusal("unavailable", () => validator.check(tree, {}, bytesOf({})))));
  });

  it("remembers no more schemas than it can hold, and asks for those that it forgot", async () => {
    const validator = openValidator({ waitMs: PATIENT_MS, compileMs: 2_000, validationMs: 1_000 });
    try {
      const kinds = Array.from({ length: 520 }, (_, at) =>
        aSchema({ ...treeSchema, required: [`p${at}`] }, { schemaId: `kind${at}` as SchemaId }),
      );
      for (const kind of [...kinds, ...kinds.slice(0, 30)]) {
        const items = await validator.check(kind, {}, bytesOf({}));
        assert.equal(items[0]?.path, (JSON.parse(kind.schema) as { required: string[] }).required[0]);
      }
    } finally {
      await validator.close();
    }
  });
});

describe("The owners of validations", () => {
  const tree = JSON.stringify(treeSchema);
  const cheap = (owner: string, payload: Buffer = bytesOf({ name: 1 })) => ({
    owner,
    key: `tree of ${owner}`,
    schema: tree,
    payload,
    all: null,
  });
  /** How many of the answers there are of each code; "" is an answer that is no refusal. */
  const codesOf = async (answers: readonly Promise<unknown>[]): Promise<Record<string, number>> => {
    const codes: Record<string, number> = {};
    for (const answer of await Promise.allSettled(answers)) {
      const code = answer.status === "rejected" ? (answer.reason as { code: string }).code : "";
      codes[code] = (codes[code] ?? 0) + 1;
    }
    return codes;
  };

  it("do not wait for one with a hundred slow jobs, but for its first", async () => {
    const thread = openValidationThread({ compileMs: 2_000, validationMs: 100, waitMs: 60_000 });
    try {
      await thread.examine("{}");
      const schema = JSON.stringify(doublingSchema());
      let slowOnes = 0;
      const crowd = Array.from({ length: 100 }, async (_, at) => {
        const request = { owner: "slow", key: `slow${at}`, schema, payload: bytesOf({ slow: 1 }), all: null };
        await refusal("schema_too_expensive", () => thread.validate(request).finally(() => (slowOnes += 1)));
      });
      const all = Promise.allSettled(crowd);
      await thread.validate(cheap("first"));
      for (const owner of ["second", "third", "first"]) {
        const before = slowOnes;
        assert.equal((await thread.validate(cheap(owner))).length, 1);
        assert.ok(slowOnes - before <= 2, `${slowOnes - before} slow ones ended before the job of ${owner}`);
      }
      const before = slowOnes;
      await thread.examine(tree, "fourth");
      assert.ok(slowOnes - before <= 3, `${slowOnes - before} slow ones came before the schema of another`);
      await thread.close();
      await all;
    } finally {
      await thread.close();
    }
  });

  it("are refused alone beyond a thousand jobs of their own", async () => {
    const thread = openValidationThread({ compileMs: 2_000, validationMs: 1_000, waitMs: 60_000 });
    try {
      const greedy = Array.from({ length: 1_050 }, () => thread.validate(cheap("greedy")));
      const other = Array.from({ length: 20 }, () => thread.validate(cheap("other")));
      const refused = greedy[1_000]?.catch((reason: unknown) => reason);
      assert.deepEqual(await Promise.all([codesOf(greedy), codesOf(other)]), [
        { "": 1_000, rate_limited: 50 },
        { "": 20 },
      ]);
      assert.deepEqual(((await refused) as AppError).headers, { "Retry-After": "1" });
      assert.deepEqual(await codesOf([thread.validate(cheap("greedy"))]), { "": 1 }, "after its jobs were answered");
    } finally {
      await thread.close();
    }
  });

  it("are refused alone beyond 4 MiB of their own, but never a single job for its size", async () => {
    const thread = openValidationThread({ compileMs: 2_000, validationMs: 5_000, waitMs: 60_000 });
    const large = (mebibytes: number) => bytesOf({ name: "x".repeat(mebibytes * 1_048_576 - 100) });
    try {
      const greedy = Array.from({ length: 6 }, () => thread.validate(cheap("greedy", large(1))));
      const other = [thread.validate(cheap("other", large(5))), thread.validate(cheap("other"))];
      assert.deepEqual(await Promise.all([codesOf(greedy), codesOf(other)]), [
        { "": 4, rate_limited: 2 },
        { "": 1, rate_limited: 1 },
      ]);
    } finally {
      await thread.close();
    }
  });

  it("have room for their share when others have filled the table", async () => {
    const thread = openValidationThread({ compileMs: 2_000, validationMs: 1_000, waitMs: 60_000 });
    try {
      const crowd = Array.from({ length: 4_000 }, (_, at) => thread.validate(cheap(`owner ${at % 4}`)));
      assert.deepEqual(await codesOf(Array.from({ length: 10 }, () => thread.validate(cheap("another")))), { "": 10 });
      assert.deepEqual(await codesOf(crowd), { "": 4_000 });
    } finally {
      await thread.close();
    }
  });

  it("are refused with unavailable when too much of all waits already, and what was taken is answered", async () => {
    const thread = openValidationThread({ compileMs: 2_000, validationMs: 1_000, waitMs: 60_000 });
    try {
      const answers = Array.from({ length: 4_100 }, (_, at) => thread.validate(cheap(`owner ${at % 5}`)));
      assert.deepEqual(await codesOf(answers), { "": 4_000, unavailable: 100 });
      assert.deepEqual(await codesOf([thread.validate(cheap("owner 0"))]), { "": 1 });
    } finally {
      await thread.close();
    }
  });
});
