import assert from "node:assert/strict";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Seat } from "../../../core/audience/seat.js";
import { DamagedPlace, type AppError } from "../../../core/errors.js";
import { newId, type AudienceId, type ClaimId, type ProfileId, type WorkspaceId } from "../../../core/ids.js";
import type { SeatStore } from "../../../core/ports/seat-store.js";
import { createEmbeddedSeatStore } from "../../../store/embedded/audiences/seats.js";
import { openEmbedded, type EmbeddedStore } from "../../../store/embedded/open.js";
import { uuidBytes } from "../../../store/embedded/uuid.js";
import { temporaryFolder } from "../../support/backends.js";

const DUE = 0x1234_5678_9abc;
const AGAIN = DUE + 1;

describe("A save of seats where something is damaged", () => {
  const [workspace, a, b] = [newId<WorkspaceId>(), newId<AudienceId>(), newId<AudienceId>()];
  const people = Array.from({ length: 300 }, () => newId<ProfileId>());
  const victim = people[150]!;
  let folder: string;
  let store: EmbeddedStore;
  let seats: SeatStore;
  const open = async (): Promise<void> => {
    store = await openEmbedded({ dataDir: folder, checkpointMs: 60_000, onError: () => undefined });
    seats = createEmbeddedSeatStore(store);
  };
  const saveAll = async (ids: readonly ProfileId[], into: (seat: Seat) => Partial<Seat>, audienceId = a) => {
    const claim = newId<ClaimId>();
    const claimed = await seats.claim(workspace, claim, ids);
    const saves = claimed.map((seat) => {
      const after = { ...seat, ...into(seat) };
      const isSame = after.memberships.length === seat.memberships.length;
      const type = after.memberships.length < seat.memberships.length ? ("left" as const) : ("entered" as const);
      const { profileId } = seat;
      const entry = { type, at: 7, audienceId, profileId, cause: "changed", into: null } as const;
      return { seat: after, entries: isSame ? [] : [entry] };
    });
    return seats.save(workspace, claim, saves);
  };
  const enterB = ({ memberships }: Seat) => ({ memberships: [...memberships, { audienceId: b, since: 8 }] });
  const dueAt = (until: number) => ({ untils: [{ audienceId: a, until }] });
  const leaveAll = () => ({ memberships: [], untils: [] });

  /** One byte in the row that begins with these. */
  const damage = async (key: readonly Buffer[]): Promise<void> => {
    await store.close();
    const file = join(folder, "onym.db");
    const bytes = await readFile(file);
    const at = bytes.indexOf(Buffer.concat(key));
    assert.ok(at > 0);
    bytes[at + 3]! ^= 1;
    await writeFile(file, bytes);
    await open();
  };

  beforeEach(async () => {
    folder = await temporaryFolder();
    await open();
    const held = people.slice(0, 299);
    for (let at = 0; at < held.length; at += 100)
      await saveAll(held.slice(at, at + 100), () => ({ memberships: [{ audienceId: a, since: 7 }], ...dueAt(DUE) }));
  });
  afterEach(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });

  const placeOf = (of: string) => ({ code: "damaged", of });

  it("fails for those alone whose rows among the members are on the page or beside it", async () => {
    await damage([uuidBytes(workspace), uuidBytes(a), uuidBytes(victim)]);
    const saved = await Promise.allSettled(people.slice(0, 299).map((one) => saveAll([one], leaveAll)));
    const errors = saved.flatMap((one) => (one.status === "rejected" ? [one.reason as AppError] : []));
    assert.ok(errors.length > 0 && errors.length < 200, `${errors.length} failed`);
    for (const error of errors) assert.deepEqual([error.code, error instanceof DamagedPlace], ["damaged", false]);
    assert.deepEqual(await saveAll([victim], enterB, b), [true]);
  });

  it("says where nobody can become a member of an audience that has none yet: all would stand on one page", async () => {
    await damage([uuidBytes(workspace), uuidBytes(a), uuidBytes(people[298]!)]);
    for (const one of [people[0]!, victim, people[299]!])
      await assert.rejects(saveAll([one], enterB, b), placeOf("members"));
    assert.deepEqual(await saveAll([people[0]!], leaveAll), [true]);
  });

  it("says where the seats of a workspace end on the page: new ones come there", async () => {
    const claimOf = (id: WorkspaceId, one: ProfileId) => seats.claim(id, newId<ClaimId>(), [one]);
    await damage([uuidBytes(workspace), uuidBytes(people[298]!)]);
    for (const [id, one] of [
      [workspace, people[298]!],
      [workspace, people[299]!],
      [newId<WorkspaceId>(), newId<ProfileId>()],
    ] as const)
      await assert.rejects(claimOf(id, one), placeOf("seats"));
    assert.equal((await claimOf(workspace, people[0]!)).length, 1);
  });

  it("says of a page before no more than that it is damaged", async () => {
    await damage([uuidBytes(workspace), uuidBytes(victim)]);
    await assert.rejects(seats.claim(workspace, newId<ClaimId>(), [victim]), (error: AppError) => {
      assert.deepEqual([error.code, error instanceof DamagedPlace], ["damaged", false]);
      return true;
    });
    assert.equal((await seats.claim(workspace, newId<ClaimId>(), [people[299]!])).length, 1);
  });

  it("says where the feed cannot be written, whoever enters or leaves", async () => {
    const { head } = await seats.sizes(workspace);
    const last = people[head - 1]!;
    await damage([Buffer.from(`"audienceId":"${a}","profileId":"${last}"`)]);
    for (const one of [people[0]!, victim, people[299]!])
      await assert.rejects(saveAll([one], enterB, b), placeOf("feed"));
    assert.deepEqual(await saveAll([victim], () => dueAt(AGAIN)), [true]);
  });

  it("says where it cannot be written when they are due", async () => {
    const due = Buffer.alloc(6);
    due.writeUIntBE(DUE, 0, 6);
    await damage([uuidBytes(workspace), due, uuidBytes(victim)]);
    await assert.rejects(
      saveAll([victim], () => dueAt(AGAIN)),
      placeOf("times"),
    );
    assert.deepEqual(await saveAll([people[299]!], enterB, b), [true]);
  });
});
