import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { FOLDING } from "../process/site.js";
import { fresh, type FloodSite } from "./flood.js";
import { requestOf, type Wire } from "./wire.js";

const CONNECTIONS = 32;
const PERSONS = 1_000;
const TICK_MS = 10;
const PAUSE_MS = 5;

/** What all threads of the process used, milliseconds; 0 where the machine does not say, and then the control flood has no pace. */
function cpuOf(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "latin1").split(") ")[1]!.split(" ");
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
  } catch {
    return 0;
  }
}

/** Ordinary valid requests, as many as burn so many processors of the service. */
export function runControl(wire: Wire, site: FloodSite, pid: number, cores: number): void {
  const [begin, cpuAtBegin] = [performance.now(), cpuOf(pid)];
  const isAhead = (): boolean => cpuOf(pid) - cpuAtBegin > cores * (performance.now() - begin);
  let pause: Promise<void> | null = null;
  /** One look for all connections: the looks of each would burn more than the service. */
  const look = async (): Promise<void> => {
    do await sleep(PAUSE_MS);
    while (isAhead());
    pause = null;
  };
  wire.hammer(CONNECTIONS, async () => {
    await (pause ??= look());
    return ordinary(site);
  });
}

function ordinary({ sender, viewer }: FloodSite): string {
  const n = fresh();
  const email = `p${n % PERSONS}@example.com`;
  const identifier = { namespace: "email", value: email };
  if (n % 10 < 7) {
    const payload = { op: n, email, city: `city ${n}` };
    const body = { schema_id: FOLDING, timestamp: new Date().toISOString(), payload };
    return requestOf("POST", "/v1/collect", sender, body);
  }
  if (n % 10 === 7) return requestOf("POST", "/v1/profiles/lookup", viewer, { identifiers: [identifier] });
  const cookie = { namespace: "cookie_id", value: `c${n}` };
  return requestOf("POST", "/v1/identify", sender, { identifiers: [identifier, cookie] });
}
