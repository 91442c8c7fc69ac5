import { parseArgs } from "node:util";
import { sdkOf, SDKS, type Sdk } from "./sdks.js";

export const HELP = `npm run clients -- [options]
Runs the SDKs of other makers, unchanged, against the service: what they send, how they try again, and what a kill -9 costs.
  --quick        fewer kills and events, and nobody's long waits
  --only A,B     only these SDKs, and no kills
  --seed N       kills at the same moments again (the time of day)
`;

export interface Options {
  readonly sdks: readonly Sdk[];
  readonly isQuick: boolean;
  readonly kills: { readonly kills: number; readonly events: number; readonly seed: number } | null;
}

/** Null when help was asked for. Throws on a wrong option. */
export function readOptions(): Options | null {
  const { values } = parseArgs({
    options: {
      quick: { type: "boolean", default: false },
      only: { type: "string" },
      seed: { type: "string", default: String(Date.now() % 1_000_000_000) },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return null;
  const seed = Number(values.seed);
  if (!Number.isSafeInteger(seed) || seed < 0) throw new Error("--seed must be a whole number from 0");
  const scale = values.quick ? { kills: 3, events: 6_000 } : { kills: 10, events: 20_000 };
  const only = values.only?.split(",").map(sdkOf);
  return { sdks: only ?? SDKS, isQuick: values.quick, kills: only === undefined ? { ...scale, seed } : null };
}
