import assert from "node:assert/strict";
import { createShares } from "../../../store/rabbitmq/publisher/shares.js";

const KIB = 1_024;

describe("The shares of workspaces in the express queue", () => {
  const clock = { at: 1_000 };
  const taken = (shares: ReturnType<typeof createShares>, workspace: string, tries: number, bytes = 300): number =>
    Array.from({ length: tries }, () => shares.take(workspace, 1, bytes)).filter(Boolean).length;

  it("are 100 messages a second, of which those of one second may come at once, for each workspace alone", () => {
    const shares = createShares(() => clock.at);
    assert.equal(taken(shares, "a", 2_000), 100);
    assert.equal(taken(shares, "b", 10), 10, "another has its own");
    clock.at += 500;
    assert.equal(taken(shares, "a", 2_000), 50);
    clock.at += 60_000;
    assert.equal(taken(shares, "a", 2_000), 100, "what is not used is not saved up");
  });

  it("are 256 KiB a second where messages are large", () => {
    const shares = createShares(() => clock.at);
    assert.equal(taken(shares, "a", 100, 64 * KIB), 4);
    clock.at += 500;
    assert.equal(taken(shares, "a", 100, 64 * KIB), 2);
  });

  it("are those of twenty for all together, so that many small workspaces use the other queues too", () => {
    const shares = createShares(() => clock.at);
    const all = (): number =>
      Array.from({ length: 50 }, (_, n) => taken(shares, `w${n}`, 60)).reduce((sum, one) => sum + one, 0);
    assert.equal(all(), 2_000);
    clock.at += 500;
    assert.equal(all(), 1_000);
  });

  it("are taken by a list for all of its messages or not at all", () => {
    const shares = createShares(() => clock.at);
    assert.equal(shares.take("a", 101, KIB), false);
    assert.equal(shares.take("a", 100, KIB), true);
    assert.equal(shares.take("a", 1, KIB), false);
  });

  it("are forgotten where nothing was used of late, so that many workspaces need little memory", () => {
    const shares = createShares(() => clock.at);
    for (let n = 0; n < 25_000; n += 1) {
      clock.at += 20;
      assert.equal(shares.take(`w${n}`, 1, KIB), true);
    }
    assert.ok(shares.known() <= 10_000, `${shares.known()}`);
  });
});
