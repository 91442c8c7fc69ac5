import assert from "node:assert/strict";
import type { Entry } from "../../../core/audience/seat.js";
import { newId, type AudienceId, type ProfileId, type WorkspaceId } from "../../../core/ids.js";
import type { SeatStore } from "../../../core/ports/seat-store.js";
import type { Contract } from "../../support/contract.js";

const newWorkspace = (): WorkspaceId => newId<WorkspaceId>();
const newProfile = (): ProfileId => newId<ProfileId>();
const newAudience = (): AudienceId => newId<AudienceId>();
const told = (type: "entered" | "left", audienceId: AudienceId, profileId: ProfileId, at: number): Entry => {
  return { type, at, audienceId, profileId, cause: "changed", into: null };
};

/** Of the contract of seats: pages of the feed where entries were appended together. */
export const feedPages: Contract<SeatStore> = {
  "forgets no entry that is young, whatever stands before it and was appended with it": async ({ port }) => {
    const [workspace, a, rich] = [newWorkspace(), newProfile(), newAudience()];
    await port.append(workspace, "both", [told("entered", rich, a, 1), told("left", rich, a, 9)]);
    await port.append(workspace, "last", [told("entered", rich, a, 10)]);
    while (await port.trim(workspace, 5, 10));
    const { entries, oldest } = await port.feed(workspace, 1, 10);
    assert.deepEqual(
      entries.map(({ seq }) => seq),
      [2, 3],
    );
    assert.ok(oldest <= 2, `${oldest}`);
  },

  "pages of a feed begin and end anywhere in what was appended together, and beside another workspace's": async ({
    port,
  }) => {
    const [a, b, profile, rich] = [newWorkspace(), newWorkspace(), newProfile(), newAudience()];
    const five = Array.from({ length: 5 }, (_, n) => told(n % 2 === 0 ? "entered" : "left", rich, profile, n));
    await port.append(a, "five", five);
    for (let n = 0; n < 8; n += 1) await port.append(b, `${n}`, [told("entered", rich, profile, n)]);
    for (const [after, limit] of [
      [0, 2],
      [2, 2],
      [3, 9],
      [5, 9],
    ] as const) {
      const numbers = (await port.feed(a, after, limit)).entries.map(({ seq }) => seq);
      assert.deepEqual(numbers, [1, 2, 3, 4, 5].slice(after, after + limit), `${after} ${limit}`);
    }
    while (await port.trim(b, 5, 10));
    assert.deepEqual([(await port.feed(b, 5, 9)).oldest, (await port.feed(a, 0, 9)).oldest], [6, 1]);
  },
};
