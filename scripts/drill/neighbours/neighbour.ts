import { setTimeout as sleep } from "node:timers/promises";
import { bodyOf, type Client, type Request } from "../../shared/client.js";
import { FOLDING, type Site } from "../process/site.js";
import { latencyOf, OPERATIONS, type Measured, type Operation } from "./latency.js";

/** Each operation begins so often, whether the earlier ones are answered or not: a stall is seen by all that fall into it. */
const EVERY_MS = 50;
const PERSONS = 50;
const POLL_MS = 10;
const FOLDED_MS = 10_000;

/** Does what an ordinary workspace does, for so many seconds, and measures it. */
export async function measure(client: Client, { key }: Site, seconds: number): Promise<Measured> {
  const millis: Readonly<Record<Operation, number[]>> = { collect: [], identify: [], "look-up": [], fold: [] };
  let failures = 0;
  /** Null when it failed. */
  const send = async (operation: Operation, request: Omit<Request, "key">) => {
    const begin = performance.now();
    const answer = await client.send({ ...request, key }).catch(() => null);
    millis[operation].push(performance.now() - begin);
    if (answer !== null && answer.status < 500) return answer;
    failures += 1;
    return null;
  };
  const post = (operation: Operation, path: string, body: object) => send(operation, { method: "POST", path, body });

  const collectAndFold = async (n: number): Promise<void> => {
    const begin = performance.now();
    const payload = { op: n, email: emailOf(n), city: `city ${n}` };
    const body = { schema_id: FOLDING, timestamp: new Date().toISOString(), payload };
    const accepted = await post("collect", "/v1/collect", body);
    if (accepted?.status !== 202) return;
    const path = `/v1/events/${bodyOf<{ readonly event_id: string }>(accepted).event_id}`;
    for (let isFolded = false; !isFolded && performance.now() - begin < FOLDED_MS;) {
      await sleep(POLL_MS);
      const event = await client.send({ method: "GET", path, key }).catch(() => null);
      isFolded = event?.status === 200 && bodyOf<{ readonly status: string }>(event).status === "folded";
    }
    millis.fold.push(performance.now() - begin);
  };
  const identify = (n: number) => {
    const identifiers = [emailIdentifier(n), { namespace: "cookie_id", value: `c${n}` }];
    return post("identify", "/v1/identify", { identifiers });
  };
  const lookUp = (n: number) => post("look-up", "/v1/profiles/lookup", { identifiers: [emailIdentifier(n)] });

  const underWay: Promise<unknown>[] = [];
  const begin = performance.now();
  for (let n = 0; performance.now() - begin < seconds * 1_000; n += 1) {
    underWay.push(collectAndFold(n), identify(n), lookUp(n));
    await sleep(Math.max(0, begin + (n + 1) * EVERY_MS - performance.now()));
  }
  await Promise.all(underWay);
  const latencies = Object.fromEntries(OPERATIONS.map((name) => [name, latencyOf(millis[name])]));
  return { latencies: latencies as Measured["latencies"], failures };
}

const emailOf = (n: number): string => `p${n % PERSONS}@example.com`;
const emailIdentifier = (n: number) => ({ namespace: "email", value: emailOf(n) });
