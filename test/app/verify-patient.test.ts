import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import { createPatience } from "../../app/verify/patient.js";
import { AppError } from "../../core/errors.js";

const late = (): Promise<never> => Promise.reject(new AppError("unavailable", "It did not answer in time."));

describe("A store that verify reads, and that does not answer in time", () => {
  it("is asked again, one call at a time, and nothing else meanwhile", async () => {
    const together: number[] = [];
    let [underWay, asked] = [0, 0];
    const read = async (): Promise<number> => {
      asked += 1;
      // The first eight fail together.
      if (asked <= 8) return nextTurn().then(late);
      underWay += 1;
      together.push(underWay);
      await nextTurn();
      underWay -= 1;
      return asked;
    };
    const port = createPatience([0, 0])("events", { read });
    const first = Array.from({ length: 8 }, () => port.read());
    await nextTurn();
    await nextTurn();
    await Promise.all([...first, port.read(), port.read()]);
    assert.deepEqual(together, [...Array<number>(8).fill(1), 1, 2]);
  });

  it("is named when it is given up, and then no other call waits for a minute more", async () => {
    let asked = 0;
    const find = (): Promise<never> => {
      asked += 1;
      return late();
    };
    const patient = createPatience([0, 0]);
    const told =
      /^no answer to events\.find\(\), also when it was asked again for a minute: It did not answer in time\.$/;
    const calls = await Promise.allSettled([
      patient("events", { find }).find(),
      patient("profiles", { find }).find(),
      patient("graph", { find: async () => find() }).find(),
    ]);
    for (const one of calls) assert.match(one.status === "rejected" ? (one.reason as Error).message : "", told);
    assert.equal(asked, 6);
    await assert.rejects(patient("events", { find: async () => 1 }).find(), { message: told });
  });

  it("is not asked again for what waiting does not mend, and others are asked as before", async () => {
    const patient = createPatience([0, 0]);
    let asked = 0;
    const find = async (): Promise<number> => {
      asked += 1;
      throw asked === 1 ? new AppError("unavailable", "away") : new AppError("damaged", "damaged");
    };
    await assert.rejects(patient("events", { find }).find(), { code: "damaged" });
    assert.equal(asked, 2);
    assert.equal(await patient("events", { find: async () => 1 }).find(), 1);
  });
});
