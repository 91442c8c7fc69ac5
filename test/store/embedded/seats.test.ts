import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import type { Database } from "../../../core/database.js";
import { newId, type AudienceId, type ClaimId, type ProfileId, type WorkspaceId } from "../../../core/ids.js";
import type { Seat } from "../../../core/audience/seat.js";
import { createEmbeddedSeatStore } from "../../../store/embedded/audiences/seats.js";
import { openEmbedded, type EmbeddedStore } from "../../../store/embedded/open.js";
import { onError, temporaryFolder } from "../../support/backends.js";

describe("Seats in the embedded store", () => {
  let folder: string;
  let store: EmbeddedStore;
  const open = () => openEmbedded({ dataDir: folder, checkpointMs: 60_000, onError });
  beforeEach(async () => {
    folder = await temporaryFolder();
    store = await open();
  });
  afterEach(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });

  const [workspace, profileId] = [newId<WorkspaceId>(), newId<ProfileId>()];
  const audienceId = newId<AudienceId>();
  const dueAt = (until: number): Seat => {
    return { profileId, memberships: [{ audienceId, since: 7 }], untils: [{ audienceId, until }] };
  };
  const seat = dueAt(9);
  const newClaim = (): ClaimId => newId<ClaimId>();

  it("are not written by a look that finds all as it was", async () => {
    let writes = 0;
    const counting: Database = {
      ...store.database,
      write: (work) => {
        writes += 1;
        return store.database.write(work);
      },
    };
    const seats = createEmbeddedSeatStore({ database: counting });
    const look = async (after: Seat): Promise<number> => {
      const [claim, before] = [newClaim(), writes];
      await seats.claim(workspace, claim, [profileId]);
      assert.deepEqual(await seats.save(workspace, claim, [{ seat: after, entries: [] }]), [true]);
      return writes - before;
    };
    assert.equal(await look({ profileId, memberships: [], untils: [] }), 0);
    assert.equal(await look(seat), 1);
    assert.equal(await look(seat), 0);
    assert.equal(await look(dueAt(10)), 1);
    assert.deepEqual(await seats.claim(workspace, newClaim(), [profileId]), [dueAt(10)]);
  });

  it("lose their claims with the process, and nothing else", async () => {
    const [first, second] = [newClaim(), newClaim()];
    const seats = createEmbeddedSeatStore({ database: store.database });
    await seats.claim(workspace, first, [profileId]);
    await seats.save(workspace, first, [{ seat, entries: [] }]);
    await seats.claim(workspace, second, [profileId]);
    // Whoever opens the same database in this process sees what is under way.
    const beside = createEmbeddedSeatStore({ database: store.database });
    assert.deepEqual(await beside.claimed(workspace, { limit: 9, after: null }), [profileId]);
    await store.close();
    store = await open();
    const again = createEmbeddedSeatStore({ database: store.database });
    assert.deepEqual(await again.claimed(workspace, { limit: 9, after: null }), []);
    assert.deepEqual(await again.save(workspace, second, [{ seat: dueAt(1), entries: [] }]), [false]);
    assert.deepEqual(await again.claim(workspace, newClaim(), [profileId]), [seat]);
  });

  it("are saved by one look alone, also when another claims them while that one waits for its turn", async () => {
    const seats = createEmbeddedSeatStore({ database: store.database });
    const [first, second] = [newClaim(), newClaim()];
    await seats.claim(workspace, first, [profileId]);
    const saving = seats.save(workspace, first, [{ seat, entries: [] }]);
    const claimed = await seats.claim(workspace, second, [profileId]);
    assert.deepEqual([claimed, await saving], [[{ profileId, memberships: [], untils: [] }], [false]]);
    assert.deepEqual(await seats.save(workspace, second, [{ seat, entries: [] }]), [true]);
  });
});
