import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { openApi } from "../../demo/shop/api.js";
import { feed, setUp } from "../../demo/shop/feed.js";
import { makeWorld } from "../../demo/shop/world.js";
import { andThen } from "../../shared/async.js";
import { createWorkspace, openClient, type Client } from "../../shared/client.js";
import { openFolder, openServers, type Ground, type Settings } from "../../shared/grounds.js";
import { beginLife, type Life } from "../process/life.js";
import { OPERATOR_KEY } from "../process/target.js";
import { answersOf, differences, type Answers } from "./answers.js";
import { feedPeople } from "./people.js";

const MOVE = fileURLToPath(new URL("../../../app/move/main.js", import.meta.url));
const EVENTS = 20_000;
const ANSWER_MS = 120_000;
/** After so long the move is killed, for the first time and each time after. */
const KILLED_AFTER_MS = [6_000, 12_000];

export interface MoveDrill {
  /** The servers that it moves to. Their graph must be empty. */
  readonly instance: string;
  readonly seed: number;
  readonly progress: (line: string) => void;
}

/** Moves a shop and the people of FEBRL 4 to servers, is killed meanwhile, and goes on. True if every answer is as before. */
export async function drillMove({ instance, seed, progress }: MoveDrill): Promise<boolean> {
  const folder = await openFolder();
  const servers = await openServers(instance);
  const run = async (): Promise<boolean> => {
    const { keys, before } = await fill(folder, seed, progress);
    await moveAll(folder.settings["DATA_DIR"]!, servers.settings, progress);
    const wrong = await withLife(servers.settings, async (_, client) => {
      const found: string[] = [];
      for (const [name, key] of keys) {
        const after = await answersOf(client, key);
        for (const line of differences(before.get(name)!, after)) found.push(`${name}: ${line}`);
      }
      return found;
    });
    for (const line of wrong) progress(`DIFFERS: ${line}`);
    const stays = await beginLife({ settings: { ...folder.settings, OPERATOR_KEY }, kill: null });
    const isClosed = !("url" in stays);
    if ("url" in stays) await stays.close();
    progress(isClosed ? "the old installation does not start again" : "BROKEN: the old installation starts again");
    if (wrong.length === 0) progress("every answer is as before");
    return wrong.length === 0 && isClosed;
  };
  return andThen(run, async () => {
    await servers.drop();
    await folder.drop();
  });
}

async function withLife<T>(settings: Settings, use: (life: Life, client: Client) => Promise<T>): Promise<T> {
  const life = await beginLife({ settings: { ...settings, OPERATOR_KEY }, kill: null });
  if (!("url" in life)) throw new Error(`The service did not start: ${life.log}`);
  const client = openClient(life.url, 4, ANSWER_MS);
  return andThen(
    () => use(life, client),
    async () => {
      client.close();
      await life.close();
    },
  );
}

async function fill(ground: Ground, seed: number, progress: (line: string) => void) {
  return withLife(ground.settings, async (life, client) => {
    const keys = new Map<string, string>();
    for (const name of ["shop", "people"]) keys.set(name, (await createWorkspace(client, OPERATOR_KEY, name)).key);
    const shop = openApi(client, keys.get("shop")!);
    await setUp(shop);
    await shop.post("/v1/audiences", { name: "bought", rule: { $events: { schema_id: "order", within: "90d" } } }, 201);
    const world = makeWorld({ events: EVENTS, seed, now: Date.now() });
    await feed(shop, world, () => {});
    progress(`${world.events.length} events of a shop`);
    const people = await feedPeople(openApi(client, keys.get("people")!));
    progress(
      people === null
        ? "NOT RUN: the people of FEBRL 4 (shared/data, a folder beside the checkout) are not here"
        : `${people} people of FEBRL 4`,
    );
    while ((await life.ask("depth")) > 0) await sleep(100);
    await life.ask("rest");
    const before = new Map<string, Answers>();
    for (const [name, key] of keys) {
      const answers = await answersOf(client, key);
      before.set(name, answers);
      progress(`${name}: ${[...answers].map(([what, { count }]) => `${what} ${count}`).join(", ")}`);
    }
    return { keys, before };
  });
}

async function moveAll(from: string, settings: Settings, progress: (line: string) => void): Promise<void> {
  let kills = 0;
  for (const afterMs of [...KILLED_AFTER_MS, null]) {
    const began = performance.now();
    const child = spawn(process.execPath, [MOVE, "--from", from, "--to-env"], {
      env: { PATH: process.env["PATH"], ...settings },
    });
    const timer = afterMs === null ? null : setTimeout(() => child.kill("SIGKILL"), afterMs);
    const [out, told] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
    if (timer !== null) clearTimeout(timer);
    const seconds = Math.round((performance.now() - began) / 1_000);
    if (child.signalCode === "SIGKILL") {
      kills += 1;
      progress(`the move was killed after ${seconds} s: ${told.trimEnd().split("\n").at(-1) ?? ""}`);
      continue;
    }
    if (child.exitCode !== 0) throw new Error(`The move failed: ${told}`);
    progress(`moved in ${seconds} s, after ${kills} kills:\n${out.trimEnd()}`);
    if (kills === 0) throw new Error("It was over before it could be killed.");
    return;
  }
}
