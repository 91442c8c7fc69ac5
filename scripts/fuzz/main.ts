import { parseArgs } from "node:util";
import { fuzz } from "./run.js";

const HELP = `npm run fuzz -- [options]
  --schemathesis PROGRAM  schemathesis 4.32.5, of which PyPI has the package (schemathesis)
  --examples N            random calls of an operation, beside those that its schemas suggest (15)
  --seed N                repeats a run (20261121)
Sends what /openapi.json allows, and what it forbids, to a service of its own. Exit code 1 if the service fails, answers what the
document does not say, or has an operation that never answered 2xx.
`;

const { values } = parseArgs({
  options: {
    schemathesis: { type: "string", default: "schemathesis" },
    examples: { type: "string", default: "15" },
    seed: { type: "string", default: "20261121" },
    help: { type: "boolean", default: false },
  },
});

async function run(): Promise<boolean> {
  const { schemathesis: program, examples, seed } = values;
  const { exitCode, counts } = await fuzz({ program, examplesMax: Number(examples), seed: Number(seed) });
  const sum = (name: "calls" | "good" | "broken"): number => counts.reduce((total, count) => total + count[name], 0);
  const unreached = counts.filter(({ good }) => good === 0).map(({ operationId }) => operationId);
  console.log(
    `${counts.length} operations, ${sum("calls")} calls: ${sum("good")} answered 2xx, ${sum("broken")} answered 5xx; never 2xx: ${unreached.join(", ") || "none"}`,
  );
  return exitCode === 0 && unreached.length === 0 && sum("broken") === 0;
}

if (values.help) process.stdout.write(HELP);
else process.exitCode = (await run()) ? 0 : 1;
