import assert from "node:assert/strict";
import { listMembers } from "../../commands/audiences/members.js";
import type { Services } from "../../commands/services.js";
import { newId, type AudienceId, type ProfileId, type WorkspaceId } from "../../core/ids.js";
import type { Page } from "../../core/ports/port.js";

const MEMBERS = 9_000;
/** The last one alone was not erased. */
const LIVING = MEMBERS - 1;

describe("The list of an audience's members", () => {
  const ids = Array.from({ length: MEMBERS }, (_, n) => String(n).padStart(5, "0") as ProfileId);
  let looked = 0;
  const services = {
    seats: {
      members: async (_: WorkspaceId, __: AudienceId, { limit, after }: Page<ProfileId>) => {
        const from = after === null ? 0 : ids.indexOf(after) + 1;
        const found = ids.slice(from, from + limit).map((profileId) => ({ profileId, since: 1 }));
        looked += found.length;
        return found;
      },
    },
    erasures: { hasErasures: async () => true },
    identity: {
      resolveAll: async (_: WorkspaceId, asked: readonly ProfileId[]) =>
        asked.map((profileId) => (profileId === ids[LIVING] ? { profileId } : null)),
    },
  } as unknown as Services;
  const read = (page: Page<ProfileId>) => listMembers(services, newId(), newId(), page);

  it("looks at a bounded number for one page, and says where to go on; nobody is left out", async () => {
    let pages = 0;
    const found: ProfileId[] = [];
    for (let after: ProfileId | null = null; ;) {
      looked = 0;
      const { members, next } = await read({ limit: 2, after });
      assert.ok(looked <= 2_000, `${looked} seats for one page`);
      found.push(...members.map(({ profileId }) => profileId));
      pages += 1;
      if (next === null) break;
      after = next;
    }
    assert.deepEqual(found, [ids[LIVING]]);
    assert.ok(pages > 1 && pages < 10, `${pages} pages`);
  });

  it("has no further page where only such stand behind it as were erased", async () => {
    const { members, next } = await read({ limit: 1, after: ids[LIVING - 1]! });
    assert.deepEqual([members.length, next], [1, null]);
    ids.push("99999" as ProfileId);
    assert.equal((await read({ limit: 1, after: ids[LIVING - 1]! })).next, null);
    ids.pop();
  });
});
