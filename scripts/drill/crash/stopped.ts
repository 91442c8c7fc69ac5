import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { andThen, eventually } from "../../shared/async.js";
import { openClient, requireAnswer, type Client } from "../../shared/client.js";
import type { Ground } from "../../shared/grounds.js";
import { beginLife, type Life } from "../process/life.js";
import * as act from "./stage.js";
import type { Play, Stage } from "./stage.js";

const STOPPED_WITHIN_MS = 30_000;
/** Every other one takes the cookie out of the profile, the last one among them. */
const CHANGES = 5;
const WITH_COOKIE = { "identifiers.cookie_id": { $exists: true } };
/** Who is in one stays in it, so there is a seat to be overwritten. */
const RULES = [WITH_COOKIE, { event_count: { $gte: 1 } }];

/**
 * A process is stopped between what a look read and its save, for so long, while another one changes the same profile and looks at it.
 * Throws unless what the first one had read comes to nothing when it goes on.
 */
export async function runStoppedLook(openGround: () => Promise<Ground>, stoppedMs: number): Promise<void> {
  const ground = await openGround();
  const run = async (): Promise<void> => {
    const stage = await act.prepare(ground);
    await act.withService(ground, async ({ client, service }) => {
      const path = "/v1/audiences";
      for (const rule of RULES)
        await requireAnswer(client, 201, { method: "POST", path, key: stage.site.key, body: { name: "one", rule } });
      await service.keeper!.rest();
    });
    await whileStopped(stage, stoppedMs);
  };
  await andThen(run, () => ground.drop());
}

async function whileStopped(stage: Stage, stoppedMs: number): Promise<void> {
  const life = await beginLife({
    settings: { ...stage.ground.settings, MODE: "all" },
    kill: { kind: "step", step: "saveSeat", moment: "before", call: 1 },
    signal: "SIGSTOP",
  });
  if (!("url" in life)) throw new Error(`The service did not start: ${life.log}`);
  const client = openClient(life.url, 1);
  try {
    const pid = await life.ask("pid");
    // It reads that the profile has a cookie.
    await requireAnswer(client, 200, act.theIdentify(stage));
    await eventually(async () => assert.equal(await stateOf(pid), "T"), STOPPED_WITHIN_MS);
    const since = performance.now();
    await act.withService(stage.ground, async (play) => {
      for (let change = 1; change <= CHANGES; change += 1) {
        await sleep(Math.max(0, (stoppedMs * change) / CHANGES - (performance.now() - since)));
        await (change % 2 === 1 ? unlinkCookie(play.client, stage) : act.retryIdentify(play.client, stage));
        await play.service.keeper!.rest();
      }
      assert.equal(await stateOf(pid), "T", "it must be stopped all the time");
      await requireCookieAlone(play, stage);
      await goOn(life, pid);
      await play.service.keeper!.rest();
      await requireCookieAlone(play, stage);
    });
  } finally {
    life.kill();
    client.close();
    await life.ended;
  }
}

/** Until it has done all that it was about to do. */
async function goOn(life: Life, pid: number): Promise<void> {
  process.kill(pid, "SIGCONT");
  await life.ask("rest");
}

/** Of `/proc`; `T` is stopped. */
const stateOf = async (pid: number): Promise<string | undefined> =>
  (await readFile(`/proc/${pid}/stat`, "utf8")).split(") ")[1]?.[0];

async function unlinkCookie(client: Client, { site }: Stage): Promise<void> {
  const [, identifier] = act.IDENTIFIERS;
  const path = "/v1/identity/unlink";
  await requireAnswer(client, 200, { method: "POST", path, key: site.key, body: { identifier } });
}

/** The profile of the cookie is in the audience, and that of the person is not; the feed adds up to that. */
async function requireCookieAlone({ client, service }: Play, { site }: Stage): Promise<void> {
  const lookup = { method: "POST", path: "/v1/profiles/lookup", key: site.key } as const;
  const { profiles } = await requireAnswer<{ readonly profiles: readonly { readonly profile_id: string }[] }>(
    client,
    200,
    { ...lookup, body: { identifiers: [act.IDENTIFIERS[1]] } },
  );
  const wanted = profiles.map((profile) => profile.profile_id);
  const { seats, audiences } = service.backends;
  const [audience] = (await audiences.audiences(site.workspace)).audiences;
  const members = await seats.members(site.workspace, audience!.audienceId, { limit: 9, after: null });
  assert.deepEqual(
    members.map(({ profileId }) => profileId),
    wanted,
    "members",
  );
  const seated = new Set<string>();
  const { entries } = await seats.feed(site.workspace, 0, 1_000);
  for (const [n, { seq, entry }] of entries.entries()) {
    assert.equal(seq, n + 1);
    if (!("audienceId" in entry) || entry.audienceId !== audience!.audienceId) continue;
    if (entry.type === "entered") assert.ok(!seated.has(entry.profileId), `${seq} lets somebody in again`);
    if (entry.type === "entered") seated.add(entry.profileId);
    if (entry.type === "left") assert.ok(seated.delete(entry.profileId), `${seq} lets somebody go again`);
  }
  assert.deepEqual([...seated], wanted, "the feed adds up to the members");
}
