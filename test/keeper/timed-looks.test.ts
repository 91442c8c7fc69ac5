import assert from "node:assert/strict";
import { silentLog } from "../../app/logger.js";
import { lookAtProfiles, type LookServices } from "../../commands/audiences/look.js";
import type { Cause, Seat } from "../../core/audience/seat.js";
import { AppError } from "../../core/errors.js";
import { newId, type AudienceId, type ClaimId, type ProfileId, type WorkspaceId } from "../../core/ids.js";
import { textAt, useApp } from "../support/service/app.js";
import { openTallyShop, type TallyShop } from "../support/service/tally-shop.js";

const DAY_MS = 86_400_000;
/** What could not be read is looked at again after so long. */
const UNREAD_MS = 300_000;

describe("A look because time has passed", () => {
  const app = useApp();
  let shop: TallyShop;
  let id: WorkspaceId;
  let profileId: ProfileId;
  /** In the order in which they were made. */
  let audienceIds: readonly AudienceId[];
  let eventAt: number;

  /** What is read, and whether facets can be. */
  const asked = { facets: 0, tallies: 0 };
  let isBroken = false;
  const services = (): LookServices => {
    const { backends, identity } = app().service;
    return {
      ...backends,
      log: silentLog,
      identity,
      limits: { profileIdentifiersMax: 100 } as LookServices["limits"],
      profiles: {
        ...backends.profiles,
        findSome: async (...given) => {
          asked.facets += 1;
          if (isBroken) throw new AppError("damaged", "It cannot be read.");
          return backends.profiles.findSome(...given);
        },
      },
      tallies: {
        ...backends.tallies,
        newestOfEach: async (workspace, asks) => {
          asked.tallies += asks.length;
          return backends.tallies.newestOfEach(workspace, asks);
        },
      },
    };
  };
  const look = async (cause: Cause, at: number) => {
    Object.assign(asked, { facets: 0, tallies: 0 });
    assert.deepEqual([...(await lookAtProfiles(services(), id, new Map([[profileId, cause]]), at))], [profileId]);
    return { ...asked };
  };
  const seat = async (): Promise<Seat> => {
    const { seats } = app().service.backends;
    return (await seats.claim(id, newId<ClaimId>(), [profileId]))[0]!;
  };
  const membersOf = ({ memberships }: Seat) => memberships.map(({ audienceId }) => audienceId);

  beforeEach(async () => {
    isBroken = false;
    shop = await openTallyShop(app());
    ({ id } = shop);
    const within = (window: string, least: number) => {
      return { $events: { schema_id: shop.schemaId, within: window, where: { n: { $gte: least } } } };
    };
    const rules = [{ event_count: { $gte: 1 } }, within("1d", 0), within("2d", -1)];
    const made: AudienceId[] = [];
    for (const rule of rules) {
      const { body } = await shop.workspace.send("POST", "/v1/audiences", { name: `${made.length}`, rule });
      made.push(textAt(body, "audience_id") as AudienceId);
    }
    audienceIds = made;
    await app().service.keeper!.rest();
    eventAt = Date.now();
    profileId = textAt(await shop.event("ann@example.com", { n: 1 }), "profile_id") as ProfileId;
    await app().service.keeper!.rest();
    assert.deepEqual(membersOf(await seat()), audienceIds);
  });

  it("reads what the audiences need whose time has come, and nothing else", async () => {
    assert.deepEqual(await look("time", eventAt + DAY_MS + 1_000), { facets: 0, tallies: 1 });
    const [ever, , second] = audienceIds as [AudienceId, AudienceId, AudienceId];
    const after = await seat();
    assert.deepEqual(membersOf(after), [ever, second]);
    assert.deepEqual(
      after.untils.map(({ audienceId }) => audienceId),
      [second],
    );
    assert.deepEqual(await look("time", eventAt + 2 * DAY_MS + 1_000), { facets: 0, tallies: 1 });
    const last = await seat();
    assert.deepEqual([membersOf(last), last.untils], [[ever], []]);
  });

  it("judges by all audiences where they could not be judged before", async () => {
    const { seats } = app().service.backends;
    const claim = newId<ClaimId>();
    await seats.claim(id, claim, [profileId]);
    assert.deepEqual(await seats.save(id, claim, [{ seat: { profileId, memberships: [], untils: [] }, entries: [] }]), [
      true,
    ]);
    isBroken = true;
    assert.equal((await look("changed", eventAt + 1_000)).facets > 0, true);
    assert.deepEqual(membersOf(await seat()), []);
    isBroken = false;
    assert.deepEqual(await look("time", eventAt + 1_000 + UNREAD_MS), { facets: 1, tallies: 2 });
    assert.deepEqual(membersOf(await seat()), audienceIds);
  });
});
