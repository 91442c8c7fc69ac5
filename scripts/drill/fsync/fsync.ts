import { spawnSync } from "node:child_process";
import { createReadStream } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { collectBodies } from "../../bench/bodies.js";
import { post, runLoad, type Supply } from "../../bench/load.js";
import { closeAll, startTargets } from "../../bench/targets.js";
import { openScratch } from "../../shared/scratch.js";
import { createJudge, type Judged } from "./trace.js";

const REQUESTS = 1_000;
const EVENTS_PER_BATCH = 5;
const CONNECTIONS = 16;
const BODY_BYTES = 300;
const CALLS = "trace=pwrite64,fsync,fdatasync,write,writev,sendmsg";
/** A whole page of the log, and the answer to a batch, are shorter. */
const SHOWN_BYTES = "16384";

/**
 * Single requests and batches to a service under strace: each event that a 202 accepts must be in a write to the log that a returned flush
 * covers before the answer begins to leave, and the log begins anew only once all that it held is flushed in the file. True if so; also, loudly, where strace is not installed.
 */
export async function drillFsync(print: (line: string) => void): Promise<boolean> {
  if (spawnSync("strace", ["-V"]).status !== 0) {
    print("SKIPPED: there is no strace here (Debian: apt-get install strace), so nothing was shown.");
    return true;
  }
  const { folder, remove } = openScratch("fsync");
  try {
    const file = path.join(folder, "trace");
    const execArgv = ["-f", "-y", "-s", SHOWN_BYTES, "-e", CALLS, "-o", file, process.execPath];
    const children = await startTargets(["service"], { fork: { execPath: "strace", execArgv } });
    try {
      const { port, key } = children.get("service")!;
      const body = collectBodies(BODY_BYTES, new Date().toISOString());
      let person = 0;
      const single = (): string => post("/v1/collect", key, body(person++));
      const batch = (): string => {
        const events = Array.from({ length: EVENTS_PER_BATCH }, () => body(person++));
        return post("/v1/collect/batch", key, `{"events":[${events.join(",")}]}`);
      };
      for (const request of [single, batch])
        await runLoad({ port, connections: CONNECTIONS, seconds: Infinity }, times(REQUESTS, request));
    } finally {
      await closeAll(children);
    }
    const judged = await judge(file);
    const wanted = { answers: 2 * REQUESTS, events: REQUESTS * (1 + EVENTS_PER_BATCH) };
    for (const id of judged.early.slice(0, 5)) print(`${id}: its 202 left before its write was flushed`);
    if (judged.answers !== wanted.answers || judged.events !== wanted.events)
      print(`the trace shows ${judged.answers} answers with ${judged.events} events, and not all that were sent`);
    const { answers, events, flushes, early, restarts, torn } = judged;
    if (restarts === 0) print("the trace shows no new beginning of the log");
    if (torn > 0) print("the log began anew over pages that were not yet on disk in the file");
    print(
      `fsync: answers=${answers} events=${events} flushes=${flushes} early=${early.length} restarts=${restarts} torn=${torn}`,
    );
    const isWhole = answers === wanted.answers && events === wanted.events && restarts > 0;
    return isWhole && early.length === 0 && torn === 0;
  } finally {
    await remove();
  }
}

function times(count: number, request: () => string): Supply {
  let left = count;
  return () => (left-- > 0 ? request() : null);
}

async function judge(file: string): Promise<Judged> {
  const { line, judged } = createJudge();
  for await (const text of createInterface({ input: createReadStream(file, "latin1") })) line(text);
  return judged;
}
