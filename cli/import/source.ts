import type { World } from "../world.js";

import { fromCsv, type CsvPlan } from "./csv-items.js";
import { contentOf, type Files } from "./files.js";
import type { Found } from "./item.js";
import { fromJsonLines, type Convert } from "./json-lines.js";
import { fromPostHog } from "./posthog.js";
import { fromSdkArchive } from "./sdk-archive.js";

export const FORMATS = ["segment", "rudder", "posthog", "csv"] as const;
export type Format = (typeof FORMATS)[number];

const CONVERT: Readonly<Record<Exclude<Format, "csv">, Convert>> = {
  segment: fromSdkArchive,
  rudder: fromSdkArchive,
  posthog: fromPostHog,
};

export interface Source {
  /** Of CSV. */
  readonly plan: CsvPlan | null;
  /** Of its events; null: none is named. */
  readonly schema: unknown;
  readonly format: Format;
  readonly files: Files;
}

/** All that the files hold, in their order. `took` is told how many bytes were read. */
export async function* itemsOf(
  { format, files, plan, schema }: Source,
  world: Pick<World, "stdin">,
  took: (bytes: number) => void,
): AsyncGenerator<Found> {
  for (const file of files.names) {
    const content = contentOf(file, world, took);
    if (format === "csv") yield* fromCsv(file, content, plan!, schema);
    else yield* fromJsonLines(file, content, CONVERT[format]);
  }
}
