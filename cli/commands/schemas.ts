import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Http } from "../../client/http.js";
import { all, pages, write, type Command, type Context } from "../command.js";
import { differences } from "../differences.js";
import { CliError, EXIT, usage, type Exit } from "../fail.js";
import { requireExact } from "../json.js";
import { flagIn, textIn } from "../options.js";

interface Schema {
  readonly schema_id: string;
  readonly version: number;
  readonly schema: unknown;
}

const END = ".json";
const FOLDER = "schemas";

export const schemas: Command = {
  name: "schemas",
  summary: "keeps schemas in files: push, pull, diff",
  help: `onym schemas push [FILE or FOLDER ...]   registers what is new or changed
onym schemas pull [FOLDER]               writes the latest version of each schema into FOLDER
onym schemas diff [FILE or FOLDER ...]   what differs; exit code 1 if anything does
A schema is in a file SCHEMA_ID.json. Without a folder: ./${FOLDER}

  --dry-run               only checks what would be pushed
  --compatibility WHAT    backward or none, of the versions that are pushed
`,
  options: { "dry-run": { type: "boolean" }, compatibility: { type: "string" } },
  run: async (context) => {
    const [action = "", ...places] = context.positionals;
    const run = Object.hasOwn(ACTIONS, action) ? ACTIONS[action as keyof typeof ACTIONS] : null;
    if (run === null)
      throw usage(`schemas: ${JSON.stringify(action)} must be one of ${Object.keys(ACTIONS).join(", ")}`);
    return run(context, places.length === 0 ? [FOLDER] : places);
  },
};

const ACTIONS = { push, pull, diff } as const satisfies Readonly<
  Record<string, (context: Context, places: readonly string[]) => Promise<Exit>>
>;

async function push(context: Context, places: readonly string[]): Promise<Exit> {
  const { http, print, values } = context;
  const api = http();
  const files = filesIn(places);
  const registered = await latest(api);
  const dryRun = flagIn(values, "dry-run");
  const compatibility = textIn(values, "compatibility");
  for (const { schemaId, file, schema } of files) {
    const known = registered.get(schemaId);
    if (known !== undefined && isDeepStrictEqual(known.schema, schema)) {
      await print({ schema_id: schemaId, version: known.version, outcome: "unchanged" }, `${schemaId}: unchanged`);
      continue;
    }
    const route = known === undefined ? "/v1/schemas" : `/v1/schemas/${schemaId}/versions`;
    const body = {
      ...(known === undefined && { schema_id: schemaId }),
      ...(compatibility !== null && { compatibility }),
      schema,
    };
    const made = await write<Schema>(api, "POST", `${route}?dry_run=${dryRun}`, body).catch((error: unknown) => {
      throw named(file, error);
    });
    const outcome = dryRun ? "would be registered" : "registered";
    await print(
      { schema_id: schemaId, version: made.version, outcome },
      `${schemaId}: version ${made.version} ${outcome}`,
    );
  }
  return EXIT.done;
}

async function pull({ http, print }: Context, [folder = FOLDER, ...more]: readonly string[]): Promise<Exit> {
  if (more.length > 0) throw usage("schemas pull: takes one folder");
  const registered = await latest(http());
  mkdirSync(folder, { recursive: true });
  for (const { schema_id: schemaId, version, schema } of registered.values()) {
    const file = path.join(folder, `${schemaId}${END}`);
    writeFileSync(file, `${JSON.stringify(schema, null, 2)}\n`);
    await print({ schema_id: schemaId, version, file }, `${file}: version ${version}`);
  }
  return EXIT.done;
}

async function diff({ http, print }: Context, places: readonly string[]): Promise<Exit> {
  const registered = new Map(await latest(http()));
  let isSame = true;
  for (const { schemaId, schema } of filesIn(places)) {
    const known = registered.get(schemaId);
    registered.delete(schemaId);
    const found = known === undefined ? ["+ is only in the file"] : differences(known.schema, schema);
    if (found.length === 0) continue;
    isSame = false;
    await print({ schema_id: schemaId, differences: found }, [schemaId, ...found.map((one) => `  ${one}`)].join("\n"));
  }
  // Files that were named one by one are all that is asked about.
  const isWhole = places.some((place) => statSync(place).isDirectory());
  for (const schemaId of isWhole ? registered.keys() : []) {
    isSame = false;
    const found = ["- is only in the service"];
    await print({ schema_id: schemaId, differences: found }, `${schemaId}\n  ${found[0]}`);
  }
  return isSame ? EXIT.done : EXIT.refused;
}

async function latest(http: Http): Promise<ReadonlyMap<string, Schema>> {
  const found = await all(pages<Schema>(http, "/v1/schemas", "schemas"));
  return new Map(found.map((schema) => [schema.schema_id, schema]));
}

interface SchemaFile {
  readonly file: string;
  readonly schemaId: string;
  readonly schema: unknown;
}

function filesIn(places: readonly string[]): readonly SchemaFile[] {
  const files = places.flatMap((place) =>
    statSync(place).isDirectory()
      ? readdirSync(place)
          .filter((name) => name.endsWith(END))
          .toSorted()
          .map((name) => path.join(place, name))
      : [place],
  );
  if (files.length === 0) throw new CliError(EXIT.refused, `${places.join(", ")}: holds no ${END} file`);
  return files.map((file) => {
    try {
      const bytes = readFileSync(file);
      const schema = parse(bytes);
      requireExact(bytes);
      return { file, schemaId: path.basename(file, END), schema };
    } catch (error) {
      throw named(file, error);
    }
  });
}

/** The engine's own error repeats a part of the text, which may have several lines. */
function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString()) as unknown;
  } catch {
    throw new CliError(EXIT.refused, "is not valid JSON");
  }
}

/** The refusal of one of many says which. */
function named(file: string, error: unknown): unknown {
  if (error instanceof Error) error.message = `${file}: ${error.message}`;
  return error;
}
