import { parseArgs } from "node:util";
import { runDemo, SAMPLE, type DemoOptions, type DemoResult } from "./run.js";
import { runShop, type ShopOptions } from "./shop/run.js";
import { showSummary } from "./summary.js";

const HELP = `npm run demo -- [file.csv ...] [options]
  --key A          a column that identifies a person; A+B+C joins several, and counts only when none is blank; repeatable
  --id COLUMN      a column that names the record itself, so that every record is somebody
  --trait COLUMN   a column to keep as a trait of the profile; repeatable (default: every column)
  --concurrency N  requests at once (32)
  --servers        a gateway and a worker of its own on the servers that RABBITMQ_URL, MONGODB_URL and NEO4J_URL name
  --url URL        a running service, instead of one of its own on a temporary folder
  --api-key KEY    a key for it, of role admin or higher
  shop             instead of files: feed a made-up shop and answer nine questions by the API alone, each in at most 10 requests;
                   exit code 1 if an answer is wrong. --events N (20000), --seed N (1)
  --verify         compare every profile with a union-find over the same keys; exit code 1 on any difference
Without a file: the sample that comes along.
`;
const CONCURRENCY_MAX = 1_024;
/** Fewer make too small a shop for the questions. */
const EVENTS_MIN = 500;
const DIFFERENCES_SHOWN = 20;

type Command = { readonly demo: DemoOptions; readonly verify: boolean } | { readonly shop: ShopOptions };

/** Null when help is wanted. */
function readCommand(): Command | null {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      key: { type: "string", multiple: true, default: [] },
      id: { type: "string" },
      trait: { type: "string", multiple: true },
      concurrency: { type: "string", default: "32" },
      url: { type: "string" },
      "api-key": { type: "string" },
      servers: { type: "boolean", default: false },
      verify: { type: "boolean", default: false },
      events: { type: "string", default: "20000" },
      seed: { type: "string", default: "1" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return null;
  const concurrency = Number(values.concurrency);
  if (!Number.isSafeInteger(concurrency) || concurrency < 1 || concurrency > CONCURRENCY_MAX)
    throw new Error(`--concurrency must be a whole number from 1 to ${CONCURRENCY_MAX}`);
  const server = values.servers ? "servers" : serverOf(values.url, values["api-key"]);
  const onProgress = createProgress(process.stdout);
  if (positionals[0] === "shop") {
    const [events, seed] = [Number(values.events), Number(values.seed)];
    if (!Number.isSafeInteger(events) || events < EVENTS_MIN)
      throw new Error(`--events must be at least ${EVENTS_MIN}`);
    if (!Number.isSafeInteger(seed)) throw new Error("--seed must be a whole number");
    return { shop: { server, events, seed, onProgress, tell: (line) => console.log(line) } };
  }
  const isSample = positionals.length === 0 && values.key.length === 0 && values.id === undefined;
  return {
    demo: {
      files: positionals.length === 0 ? [SAMPLE.file] : positionals,
      keys: isSample ? SAMPLE.keys : values.key,
      id: isSample ? SAMPLE.id : (values.id ?? null),
      traits: values.trait ?? null,
      concurrency,
      server,
      onProgress,
    },
    verify: values.verify,
  };
}

function serverOf(url: string | undefined, key: string | undefined): DemoOptions["server"] {
  if (url === undefined && key === undefined) return null;
  if (url === undefined || key === undefined) throw new Error("--url and --api-key go together");
  return { url, key };
}

const BAR_WIDTH = 30;
const REDRAW_MS = 100;
const LINE_MS = 2_000;

/** Shows how far something is: a bar that moves on a terminal, a plain line now and then elsewhere. */
function createProgress(out: NodeJS.WriteStream): DemoOptions["onProgress"] {
  const period = out.isTTY ? REDRAW_MS : LINE_MS;
  let shownAt = Date.now();
  return (done, total, what) => {
    const isLast = done === total;
    if (!isLast && Date.now() - shownAt < period) return;
    shownAt = Date.now();
    const text = `${done.toLocaleString("en-US")} of ${total.toLocaleString("en-US")} ${what}`;
    const bar = "=".repeat(Math.round((BAR_WIDTH * done) / total)).padEnd(BAR_WIDTH);
    out.write(out.isTTY ? `\r[${bar}] ${text}${isLast ? "\n" : ""}` : `${text}\n`);
  };
}

/** True when nothing differs. */
function showDifferences(differences: DemoResult["differences"]): boolean {
  for (const difference of differences.slice(0, DIFFERENCES_SHOWN)) console.log(`  ${difference}`);
  console.log(`${differences.length.toLocaleString("en-US")} difference${differences.length === 1 ? "" : "s"}`);
  return differences.length === 0;
}

try {
  const command = readCommand();
  if (command === null) process.stdout.write(HELP);
  else if ("shop" in command) {
    if ((await runShop(command.shop)).length > 0) process.exitCode = 1;
  } else {
    const { summary, eventsPerSecond, differences } = await runDemo(command.demo);
    console.log(`${Math.round(eventsPerSecond).toLocaleString("en-US")} events/s`);
    console.log(showSummary(summary));
    if (command.verify && !showDifferences(differences)) process.exitCode = 1;
  }
} catch (error) {
  console.error(`demo: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 2;
}
