import assert from "node:assert/strict";
import type { Entry } from "../../../core/audience/seat.js";
import { requireAnswer, type Client, type Request } from "../../shared/client.js";
import type { Moment, Step } from "./points.js";
import * as act from "./stage.js";
import type { Play, Stage } from "./stage.js";

/** What a process does with audiences when it is killed. */
export type AudienceAct = "look" | "build" | "delete" | "erase";

export interface AudienceRow {
  readonly title: string;
  readonly does: AudienceAct;
  readonly at: readonly [step: Step, moment: Moment, call?: number];
}

const SAYS: Readonly<Record<AudienceAct, string>> = {
  look: "who is in the audience is stored, and told once",
  build: "the audience becomes live, and who is in it is told once",
  delete: "nobody is in the audience, and its end is told once, and last",
  erase: "the person is in no audience, counted once, and the end of the profile is told once, and last",
};

const rows = (
  does: AudienceAct,
  ...kills: readonly (readonly [title: string, ...at: AudienceRow["at"]])[]
): readonly AudienceRow[] => kills.map(([title, ...at]) => ({ title: `killed ${title}: ${SAYS[does]}`, does, at }));

export const AUDIENCE_ROWS: readonly AudienceRow[] = [
  ...rows(
    "look",
    ["between a fold and its marks", "markUids", "before"],
    ["in the marks, before their commit", "markUids", "uncommitted"],
    ["between the marks and the acknowledgement", "markUids", "committed"],
    ["before a look claims", "claimSeat", "before"],
    ["between the claim of a look and what it reads", "claimSeat", "committed"],
    ["between what a look reads and its save", "saveSeat", "before"],
    ["in the save of a look, before its commit", "saveSeat", "uncommitted"],
    ["between the save of a look and the end of its marks", "saveSeat", "committed"],
    ["in the end of the marks, before its commit", "clearMarks", "uncommitted"],
  ),
  ...rows(
    "build",
    ["before a build claims", "claimSeat", "before"],
    ["in the save of a build, before its commit", "saveSeat", "uncommitted"],
    // The request that makes the audience saves twice.
    ["between a page of a build and its note", "saveAudiences", "before", 3],
    ["in the note of a build, before its commit", "saveAudiences", "uncommitted", 3],
    ["after the note of a build", "saveAudiences", "committed", 3],
  ),
  ...rows(
    "delete",
    ["before the members of a deleted audience leave", "saveSeat", "before"],
    ["between the last member of a deleted audience and its end", "appendFeed", "before"],
    ["in the end of an audience, before its commit", "appendFeed", "uncommitted"],
    ["between the end of an audience and its note", "appendFeed", "committed"],
    ["in the note of an end, before its commit", "saveAudiences", "uncommitted", 2],
  ),
  ...rows(
    "erase",
    ["before the seat of somebody erased is claimed", "claimSeat", "before"],
    ["between the claim and the count of an erasure", "claimSeat", "committed"],
    ["in the save of an erasure's look, before its commit", "saveSeat", "uncommitted"],
    ["between an erasure's look and the end of the profile", "appendFeed", "before"],
    ["in the end of a profile, before its commit", "appendFeed", "uncommitted"],
    ["between the end of a profile and its note", "appendFeed", "committed"],
  ),
];

/** Of whom the audience is. The stage's event moves the person from Bern to Oslo. */
const CITY: Readonly<Record<AudienceAct, string>> = { look: "Oslo", build: "Oslo", delete: "Bern", erase: "Bern" };

const request = (stage: Stage, method: Request["method"], path: string, body?: object): Request => ({
  method,
  path,
  key: stage.site.key,
  ...(body !== undefined && { body }),
});

const create = (client: Client, stage: Stage, does: AudienceAct): Promise<unknown> =>
  requireAnswer(
    client,
    201,
    request(stage, "POST", "/v1/audiences", { name: "the audience", rule: { "traits.city": CITY[does] } }),
  );

interface Shown {
  readonly audience_id: string;
  readonly state: string;
  readonly size: number;
}

const list = async (client: Client, stage: Stage): Promise<readonly Shown[]> =>
  (await requireAnswer<{ readonly audiences: readonly Shown[] }>(client, 200, request(stage, "GET", "/v1/audiences")))
    .audiences;

/** What stands before the kill. */
export const prepareAudience = (stage: Stage, does: AudienceAct): Promise<void> =>
  act.withService(stage.ground, async ({ client, service }) => {
    if (does !== "build") await create(client, stage, does);
    if (does === "build") await act.retryEvent(client, stage);
    if (does === "build") await act.untilSettled(client, stage, act.theEventId(stage), ["folded"]);
    await service.keeper!.rest();
  });

/** What makes the doomed process come to the point. */
export async function doAudience(client: Client, stage: Stage, does: AudienceAct): Promise<void> {
  if (does === "look") await client.send(act.theEvent(stage)).catch(() => null);
  if (does === "build") await create(client, stage, does);
  if (does === "delete") {
    const [audience] = await list(client, stage);
    const { status } = await client.send(request(stage, "DELETE", `/v1/audiences/${audience!.audience_id}`));
    assert.equal(status, 204);
  }
  if (does === "erase") await requireAnswer(client, 202, act.theErasure(stage));
}

/** What must be true in the end. */
export async function requireAudience(play: Play, stage: Stage, does: AudienceAct): Promise<void> {
  const { client, service } = play;
  if (does === "look") await act.retryEvent(client, stage);
  if (does === "look" || does === "build") await act.requireFoldedOnce(play, stage);
  if (does === "erase") await act.requireErased(client, stage);
  await service.keeper!.rest();
  const { seats, audiences, marks } = service.backends;
  const { workspace } = stage.site;
  const { entries } = await seats.feed(workspace, 0, 100);
  assert.deepEqual(
    entries.map(({ entry }) => textOf(entry)),
    TOLD[does],
  );
  const standing = await list(client, stage);
  const isIn = does === "look" || does === "build";
  assert.deepEqual(
    standing.map(({ state, size }) => [state, size]),
    does === "delete" ? [] : [["live", isIn ? 1 : 0]],
  );
  const { sizes } = await seats.sizes(workspace);
  assert.equal(sizes.size, isIn ? 1 : 0);
  for (const audienceId of sizes.keys())
    assert.equal((await seats.members(workspace, audienceId, { limit: 9, after: null })).length, 1);
  assert.deepEqual((await audiences.audiences(workspace)).deleted, []);
  const open = await marks.marks(100);
  assert.deepEqual(
    open.filter((mark) => mark.workspace === workspace),
    [],
  );
  if (does === "erase") assert.equal(await membershipsRemoved(client, stage), 1);
}

async function membershipsRemoved(client: Client, stage: Stage): Promise<number> {
  const { erasures } = await requireAnswer<{
    readonly erasures: readonly { readonly removed: { readonly memberships: number } }[];
  }>(client, 200, request(stage, "GET", "/v1/erasures"));
  return erasures[0]!.removed.memberships;
}

const textOf = (entry: Entry): string => ("cause" in entry ? `${entry.type} ${entry.cause}` : entry.type);

const TOLD: Readonly<Record<AudienceAct, readonly string[]>> = {
  look: ["entered changed"],
  build: ["entered built"],
  delete: ["entered built", "audience_deleted"],
  erase: ["entered built", "left erased", "profile_erased"],
};
