import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "../../shared/async.js";
import { bodyOf, requireAnswer, type Client, type Request } from "../../shared/client.js";
import type { Random } from "../../shared/random.js";
import { FOLDING, MADE_MS, type Site } from "../process/site.js";
import type { Target } from "../process/target.js";
import type { Receiver } from "./receiver.js";

/** Who follows a workspace: audiences, and a webhook that tells who is in them. */
export interface Follower {
  readonly site: Site;
  readonly webhookId: string;
}

const made = <T>(client: Client, request: Request): Promise<T> =>
  eventually(() => requireAnswer<T>(client, 201, request), MADE_MS);

const asked = ({ key }: Site, method: Request["method"], path: string, body?: object): Request => ({
  method,
  path,
  key,
  ...(body !== undefined && { body }),
});

/** The load's events are of the first day of 2026: of any minute, some come out of a window that ends in the midst of that day. */
const NOON = Date.UTC(2026, 0, 1, 12);
const window = (): string => `${Math.floor((Date.now() - NOON) / 60_000)}m`;

const RULES: readonly (() => object)[] = [
  () => ({ $events: { schema_id: FOLDING, within: window() } }),
  () => ({ $events: { schema_id: FOLDING, where: { score: { $gte: 5_000 } }, at_least: 2, within: window() } }),
  () => ({ $events: { schema_id: FOLDING, sum: "amount", is: { $gt: 0 }, within: window() } }),
  () => ({ "traits.score": { $gte: 5_000 }, "identifiers.email": { $exists: true } }),
  () => ({ event_count: { $gte: 3 } }),
];

export async function createFollowers(
  client: Client,
  sites: readonly Site[],
  receiver: Receiver,
): Promise<readonly Follower[]> {
  const followers: Follower[] = [];
  for (const site of sites) {
    const ids: string[] = [];
    for (const [n, rule] of RULES.entries()) ids.push(await create(client, site, `rule ${n}`, rule()));
    await create(client, site, "both", { $and: [{ $audience: ids[0] }, { $not: { $audience: ids[3] } }] });
    const webhook = asked(site, "POST", "/v1/webhooks", { url: receiver.url, after: 0 });
    const { webhook_id: webhookId } = await made<{ readonly webhook_id: string }>(client, webhook);
    followers.push({ site, webhookId });
  }
  return followers;
}

async function create(client: Client, site: Site, name: string, rule: object): Promise<string> {
  const request = asked(site, "POST", "/v1/audiences", { name, rule });
  return (await made<{ readonly audience_id: string }>(client, request)).audience_id;
}

const CHANGES_PAUSE_MS = 300;
/** Of those that come and go. */
const TEMPORARY = "temporary";
const TEMPORARY_MAX = 2;

interface Shown {
  readonly audience_id: string;
  readonly name: string;
}

/** While the load goes on, audiences come, get other rules and go. What is not answered may have happened or not. */
export function startChanges(target: Pick<Target, "running">, sites: readonly Site[], random: Random) {
  const ending = new AbortController();
  let changes = 0;
  const change = async (): Promise<void> => {
    const { client } = await target.running();
    const site = random.pick(sites);
    const { audiences } = bodyOf<{ readonly audiences: readonly Shown[] }>(
      await client.send(asked(site, "GET", "/v1/audiences")),
    );
    const own = audiences.filter(({ name }) => name === TEMPORARY);
    const rule = random.pick(RULES)();
    const path = `/v1/audiences/${own[0]?.audience_id}`;
    const { status } = await client.send(
      own.length < TEMPORARY_MAX
        ? asked(site, "POST", "/v1/audiences", { name: TEMPORARY, rule })
        : random.once(2)
          ? asked(site, "PUT", path, { rule })
          : asked(site, "DELETE", path),
    );
    if (status < 300) changes += 1;
  };
  const run = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      // Nothing answers while it is down.
      await change().catch(() => undefined);
      await sleep(CHANGES_PAUSE_MS);
    }
  };
  const running = run();
  return {
    /** Answers how many were acknowledged. */
    finish: async (): Promise<number> => {
      ending.abort();
      await running;
      return changes;
    },
  };
}
