import { setTimeout as sleep } from "node:timers/promises";
import { each, eventually } from "../shared/async.js";
import { createRandom } from "../shared/random.js";
import type { Program } from "./install.js";
import { startClient, type Client } from "./process.js";
import { findProfile, readEvents } from "./profiles.js";
import { sdkOf, type Sdk } from "./sdks.js";
import type { Service, Workspace } from "./service.js";

export interface KillOptions {
  readonly kills: number;
  /** Of all SDKs together. */
  readonly events: number;
  readonly seed: number;
}

interface Sender {
  readonly sdk: Sdk;
  readonly process: Client;
}

export interface Toll {
  /** Not stored, although the SDK got its answer. */
  readonly lost: number;
  readonly duplicated: number;
  /** What the SDKs say they did not deliver. */
  readonly gaveUp: number;
}

/** The other SDKs try too briefly, or wait too long, for a service that is killed every few seconds. */
export const PATIENT: readonly Sdk[] = ["segment-node", "segment-python", "rudder-python", "rudder-go"].map(sdkOf);

/** A busy machine takes longer to start the service than they try by default. */
const STUBBORN = { maxRetries: 100 };
const SLICE_MS = 1_200;
const SPREAD_MS = 60;
/** Of one person, a page of the timeline. */
const EVENTS_OF_ONE = 100;
const IDLE_MS = 60_000;
const WIDTH = 4;

/** Kills the service again and again while SDKs send to it, and counts what it stored in the end. */
export async function drillKills(
  service: Service,
  programs: ReadonlyMap<string, Program>,
  { kills, events, seed }: KillOptions,
): Promise<Toll> {
  const { slot, url } = service;
  const workspace = await service.openWorkspace("kills");
  const random = createRandom(seed);
  const share = Math.ceil(events / PATIENT.length);
  const senders = PATIENT.map((sdk): Sender => {
    const process = startClient(programs.get(sdk.name)!, { url, key: workspace.writeKey, options: STUBBORN });
    return { sdk, process };
  });
  // A slice more than kills: the last one is sent to a service that lives on.
  const slice = Math.ceil(share / (kills + 1));
  for (let round = 0; round <= kills; round += 1) {
    const [from, to] = [round * slice, Math.min((round + 1) * slice, share)];
    const feeding = Promise.all(senders.map((sender) => feed(sender, from, to)));
    if (round < kills) {
      await slot.strike({ kill: null, withinMs: random.below(SLICE_MS) });
      await slot.start();
    }
    await feeding;
  }
  const reports = await Promise.all(senders.map(({ process }) => process.finish()));
  const gaveUp = new Set(reports.flatMap((report) => report.gaveUp ?? []));
  await eventually(async () => {
    if ((await slot.depth()) > 0) throw new Error("events wait in the queue");
  }, IDLE_MS);
  return { ...(await count(service, workspace, share, gaveUp)), gaveUp: gaveUp.size };
}

/** Looks for each event of each SDK. */
async function count(
  service: Service,
  workspace: Workspace,
  share: number,
  gaveUp: ReadonlySet<string>,
): Promise<Pick<Toll, "lost" | "duplicated">> {
  let [lost, duplicated] = [0, 0];
  const firsts = Array.from({ length: Math.ceil(share / EVENTS_OF_ONE) }, (_, person) => person * EVENTS_OF_ONE);
  const people = PATIENT.flatMap((sdk) => firsts.map((first) => ({ sdk, first })));
  await each(people, WIDTH, async ({ sdk, first }) => {
    const past = Math.min(first + EVENTS_OF_ONE, share);
    const found = await storedOf(service, workspace, userOf(sdk, first));
    const distinct = new Set(found);
    for (let n = first; n < past; n += 1) if (!distinct.has(n) && !gaveUp.has(messageIdOf(sdk, n))) lost += 1;
    duplicated += found.length - distinct.size;
  });
  return { lost, duplicated };
}

const messageIdOf = (sdk: Sdk, n: number): string => `${sdk.name}-${n}`;
const userOf = (sdk: Sdk, n: number): string => `${sdk.name}-${Math.floor(n / EVENTS_OF_ONE)}`;

/** Makes these calls, spread over the slice. */
async function feed({ sdk, process }: Sender, from: number, to: number): Promise<void> {
  const steps = Math.ceil(SLICE_MS / SPREAD_MS);
  for (let step = 0, n = from; n < to; step += 1) {
    const until = Math.min(to, from + Math.ceil(((to - from) * (step + 1)) / steps));
    for (; n < until; n += 1) {
      const messageId = messageIdOf(sdk, n);
      process.call({ type: "track", event: "Counted", userId: userOf(sdk, n), messageId, properties: { n } });
    }
    await sleep(SPREAD_MS);
  }
}

/** The numbers of a person's events. */
async function storedOf({ client }: Service, { owner }: Workspace, userId: string): Promise<readonly number[]> {
  const profile = await findProfile(client, owner, { namespace: "user_id", value: userId });
  if (profile === null) return [];
  return (await readEvents(client, owner, profile)).map(({ payload }) => payload.properties?.n ?? -1);
}
