import assert from "node:assert/strict";
import { createQuarantine } from "../../commands/quarantine.js";
import { newId, type WorkspaceId } from "../../core/ids.js";

describe("The bounds of a quarantine", () => {
  it("end with the minute and with the day, also while the service's time stands still", () => {
    const steady = { ms: 0 };
    const quarantine = createQuarantine({ perMinute: 2, bytesPerDay: 35 }, () => steady.ms);
    const workspace = newId<WorkspaceId>();
    const takes = () => quarantine.room({ workspace, send: null }).takes(10);
    const hasRoom = () => quarantine.room({ workspace, send: null }).hasRoom(10);
    assert.deepEqual([hasRoom(), takes(), hasRoom(), takes()], [true, true, true, true]);
    assert.deepEqual([hasRoom(), takes()], [false, false]);
    steady.ms = 59_999;
    assert.equal(takes(), false);
    steady.ms = 60_000;
    assert.deepEqual(
      [hasRoom(), takes(), hasRoom(), takes()],
      [true, true, false, false],
      "the third item of the day, and no room for a fourth",
    );
    steady.ms = 86_400_000;
    assert.equal(takes(), true);
  });

  it("count nothing of a request that gave its room back, and it takes no more", () => {
    const quarantine = createQuarantine({ perMinute: 2, bytesPerDay: 20 });
    const workspace = newId<WorkspaceId>();
    const [failed, other] = [quarantine.room({ workspace, send: null }), quarantine.room({ workspace, send: null })];
    assert.deepEqual([failed.takes(10), other.takes(10), other.takes(10)], [true, true, false]);
    failed.giveBack();
    failed.giveBack();
    assert.equal(failed.takes(10), false);
    assert.deepEqual([other.takes(10), other.takes(10)], [true, false]);
  });

  it("are one of all collect-only keys, and one of all others: a public key uses up nothing of theirs", () => {
    const quarantine = createQuarantine({ perMinute: 1, bytesPerDay: 10 });
    const workspace = newId<WorkspaceId>();
    const takes = (send: "collect" | "all" | null) => quarantine.room({ workspace, send }).takes(10);
    assert.deepEqual([takes("collect"), takes("collect")], [true, false]);
    assert.deepEqual([takes("all"), takes(null)], [true, false]);
  });
});
