import { fileURLToPath } from "node:url";

/** Made-up people for a first run. The compiler copies no CSV, so it is read from the sources; both folders lie one below the root. */
export const SAMPLE = {
  file: fileURLToPath(new URL("../../../scripts/demo/sample.csv", import.meta.url)),
  keys: ["membership", "given_name+surname+date_of_birth"],
  id: "record",
} as const;
