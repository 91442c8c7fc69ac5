import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Backends } from "../../app/backends.js";
import { silentLog } from "../../app/logger.js";
import type { LookServices } from "../../commands/audiences/look.js";
import { newId, type ClaimId, type WorkspaceId } from "../../core/ids.js";
import type { SeatStore } from "../../core/ports/seat-store.js";
import { createYields } from "../../keeper/audiences/build.js";
import { PER_LOOK } from "../../keeper/audiences/deps.js";
import { createAudienceTask } from "../../keeper/audiences/task.js";
import type { Task } from "../../keeper/task.js";
import { eventually } from "../support/eventually.js";
import { textAt, useApp, type App } from "../support/service/app.js";
import { itemOf } from "../support/service/batch.js";

const PEOPLE = 2 * PER_LOOK + 1;
const RULE = { "traits.city": "Paris" };
/** As of a server: others do something meanwhile. */
const SAVE_MS = 20;
/** Builds are left for up to four times as long: longer than a step takes. */
const TAKEN_MS = 250;

describe("An audience of more profiles than one look takes", () => {
  const app = useApp(
    {},
    {
      wrap: (backends) => ({
        ...backends,
        seats: {
          ...backends.seats,
          save: async (...of) => {
            await sleep(SAVE_MS);
            return backends.seats.save(...of);
          },
        },
      }),
    },
  );

  async function crowded() {
    const workspace = await app().workspace();
    const schemaId = await workspace.schema();
    const people = Array.from({ length: PEOPLE }, (_, n) => ({ email: `p${n}@example.com`, city: "Paris" }));
    for (let from = 0; from < people.length; from += 100) {
      const events = people.slice(from, from + 100).map((payload) => itemOf(schemaId, payload));
      const sent = await workspace.send("POST", "/v1/collect/batch", { events });
      assert.equal(sent.status, 202, sent.text);
    }
    const { queue } = app().service.backends;
    await eventually("all are folded", async () => (await queue.depth()) === 0);
    const create = async () =>
      textAt((await workspace.send("POST", "/v1/audiences", { name: "all", rule: RULE })).body, "audience_id");
    const shown = async (audienceId: string) => (await workspace.send("GET", `/v1/audiences/${audienceId}`)).body;
    return { create, shown };
  }
  const rest = () => app().service.keeper!.rest();

  it("has all of them once it is live", async () => {
    const { create, shown } = await crowded();
    const audienceId = await create();
    await rest();
    const { state, size } = await shown(audienceId);
    assert.deepEqual([state, size], ["live", PEOPLE]);
  });

  it("is built by two processes at the same time", async () => {
    const { create, shown } = await crowded();
    await rest();
    const audienceId = await create();
    let judged = 0;
    const isLive = async (): Promise<boolean> => {
      const { state, progress } = await shown(audienceId);
      judged = Math.max(judged, (progress as { readonly profiles: number } | undefined)?.profiles ?? 0);
      return state === "live";
    };
    const other = taskOn(app(), app().service.backends);
    const goOn = async (): Promise<void> => {
      while (!(await isLive())) if ((await other.step()) > 0) await sleep(5);
    };
    await Promise.all([rest(), goOn()]);
    assert.equal((await shown(audienceId))["size"], PEOPLE);
    assert.ok(judged <= PEOPLE, `${judged} of ${PEOPLE} judged`);
  });
});

describe("An audience whose looks another process takes", () => {
  let claims = 0;
  const taken = { isDone: false };
  let real: Backends | null = null;
  const app = useApp(
    {},
    {
      wrap: (backends) => {
        const save: SeatStore["save"] = async (workspace, claim, saves) => {
          if (!taken.isDone) {
            await sleep(TAKEN_MS);
            await claimAnew(backends, workspace, saves);
          }
          taken.isDone = true;
          return backends.seats.save(workspace, claim, saves);
        };
        const claim: SeatStore["claim"] = (workspace, claimId, profileIds) => {
          claims += profileIds.length;
          return backends.seats.claim(workspace, claimId, profileIds);
        };
        real = { ...backends, seats: { ...backends.seats, claim, save } };
        // Its own keeper builds nothing.
        return { ...backends, audiences: { ...backends.audiences, watching: () => Promise.resolve([]) } };
      },
    },
  );

  it("leaves them to that one for a moment, and is judged then", async () => {
    const workspace = await app().workspace();
    const schemaId = await workspace.schema();
    for (const email of ["a@example.com", "b@example.com", "c@example.com"])
      await workspace.settled((await workspace.collect(schemaId, { email, city: "Paris" })).body["event_id"]);
    await app().service.keeper!.rest();
    const made = await workspace.send("POST", "/v1/audiences", { name: "all", rule: RULE });
    const shown = async () => (await workspace.send("GET", `/v1/audiences/${textAt(made.body, "audience_id")}`)).body;
    const random = Math.random;
    Math.random = () => 1;
    const task = taskOn(app(), real!);
    Math.random = random;
    while (!taken.isDone) await task.step();
    assert.equal(claims, 3, "no look is tried again at once");
    assert.equal((await shown())["state"], "building");
    // The end of that round, and the next one.
    for (const _ of [1, 2]) await task.step();
    assert.deepEqual([claims, task.isWaiting!()], [3, true]);
    while ((await shown())["state"] !== "live") await task.step();
    assert.deepEqual([claims, (await shown())["size"]], [6, 3]);
  });
});

describe("Whoever lost looks of a build", () => {
  it("leaves the builds of that workspace for up to four times as long as they took, and of no other", () => {
    const [one, other] = [newId<WorkspaceId>(), newId<WorkspaceId>()];
    const yields = createYields(() => 1);
    yields.lost(one, 60_000);
    assert.deepEqual([yields.isFree(one), yields.isFree(other)], [false, true]);
    yields.lost(one, -1);
    assert.equal(yields.isFree(one), true);
  });
});

const claimAnew = ({ seats }: Backends, workspace: WorkspaceId, saves: Parameters<SeatStore["save"]>[2]) =>
  seats.claim(
    workspace,
    newId<ClaimId>(),
    saves.map(({ seat }) => seat.profileId),
  );

/** Of another process on the same stores. */
function taskOn({ service }: App, backends: Backends): Task {
  const limits = { profileIdentifiersMax: 10_000 } as LookServices["limits"];
  const { identity } = service;
  const now = () => Date.now();
  return createAudienceTask({ ...backends, identity, movements: backends.graph, limits, log: silentLog, now });
}
