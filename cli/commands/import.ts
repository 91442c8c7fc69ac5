import { read, type Command, type Context } from "../command.js";
import { CliError, EXIT, failureOf, usage, type Exit } from "../fail.js";
import { ERASURE_OPTIONS } from "../export/erasures.js";
import { importOnym } from "../export/import-onym.js";
import { awaitEarlier, awaitUsers, createAliasOrder, userReaderOf } from "../import/aliases.js";
import { batchesOf, batchOf, type Target } from "../import/batches.js";
import { csvPlanIn } from "../import/csv-items.js";
import { deliver } from "../import/deliver.js";
import { filesAt } from "../import/files.js";
import { FORMATS, itemsOf, type Format, type Source } from "../import/source.js";
import { surveyOf, type Survey } from "../import/survey.js";
import { flagIn, textIn } from "../options.js";
import { createProgress, type Progress } from "../progress.js";
import { count, plain } from "../show.js";

const RETRY_MS = 900_000;
const REASONS_MAX = 20;

export const importCommand: Command = {
  name: "import",
  summary: "imports archives of Segment, RudderStack and PostHog, CSV files, and exports of Onym",
  help: `onym import segment|rudder|posthog|csv FILE or FOLDER ... [options]
onym import onym FOLDER [--erasures FILE --secret-file FILE --workspace ID] [--dry-run] [--yes]
Reads the files, plain or gzip, and shows what would come of them; then it asks, and sends. Run it again after it was
stopped: what is stored is not stored twice. - is the input. Exit code 1 if something was refused. Needs an admin key.
onym: the folder that onym export wrote, into an empty workspace of another installation.

  --dry-run                only shows what would come of them
  --yes                    sends at once, and does not ask
  --sender KEY_ID          the key that sent these calls to this service before: those are not stored again

of onym, to leave out who was erased after the export:
  --erasures FILE          the log of erasures of the installation that was exported
  --secret-file FILE       the secret of its tombstones; npm run erasures there writes both files
  --workspace ID           the workspace there that was exported

of csv, whose first line names the columns:
  --identifier COLUMN=NAMESPACE   each row is a person; repeatable
  --trait COLUMN[:TYPE]=NAME      a trait of the person: text, or of the type number or boolean; repeatable
  --schema SCHEMA_ID              each row is an event of this schema; its columns are fields, or as --field says
  --field COLUMN=FIELD            a column is this field of the event, such as address.city; repeatable
  --timestamp COLUMN              when it happened; needed with --schema
  --id COLUMN                     names the row, so that it is the same in another file, unless it says
                                  something else of a person
`,
  options: {
    "dry-run": { type: "boolean" },
    yes: { type: "boolean" },
    erasures: { type: "string" },
    "secret-file": { type: "string" },
    workspace: { type: "string" },
    sender: { type: "string" },
    schema: { type: "string" },
    field: { type: "string", multiple: true },
    identifier: { type: "string", multiple: true },
    trait: { type: "string", multiple: true },
    timestamp: { type: "string" },
    id: { type: "string" },
  },
  run: async (context) => {
    const { values, world } = context;
    if (context.positionals[0] === "onym") return importOnym(context);
    const isTrial = flagIn(values, "dry-run");
    const source = await sourceIn(context);
    const target = targetOf(source, textIn(values, "sender"));
    if (isTrial || !flagIn(values, "yes")) {
      if (!isTrial && world.ask === null) throw usage("nobody can be asked here: say --yes or --dry-run");
      if (!isTrial && !source.files.mayBeReadTwice)
        throw usage("the input can be read only once: say --yes or --dry-run");
      const survey = await examine(context, source, target);
      if (isTrial) {
        await context.print(survey, showSurvey(survey, source));
        return survey.unreadable + survey.unfit === 0 ? EXIT.done : EXIT.refused;
      }
      world.err(`${showSurvey(survey, source)}\n`);
      if (!(await world.ask!(`Import ${count(survey.items, "item")}?`)))
        throw new CliError(EXIT.refused, "nothing was imported");
    }
    return sendAll(context, source, target);
  },
};

async function sourceIn({ positionals, values, http }: Context): Promise<Source> {
  const [format, ...places] = positionals;
  if (!isFormat(format)) throw usage(`import: name one of ${FORMATS.join(", ")}, onym, then files`);
  if (places.length === 0) throw usage("import: name a file, a folder or -");
  const foreign = ERASURE_OPTIONS.find((name) => values[name] !== undefined);
  if (foreign !== undefined) throw usage(`--${foreign}: is for onym`);
  const own = ["schema", "field", "identifier", "trait", "timestamp", "id"].filter(
    (name) => values[name] !== undefined,
  );
  if (format !== "csv" && own.length > 0) throw usage(`--${own[0]!}: is for csv`);
  const plan = format === "csv" ? csvPlanIn(values) : null;
  const schemaId = plan?.schemaId ?? null;
  if (schemaId !== null && textIn(values, "sender") !== null) throw usage("--sender: is not for --schema");
  const files = filesAt(places);
  if (files.names.length === 0) throw new CliError(EXIT.refused, `${places.join(", ")}: holds no file`);
  const path = schemaId === null ? null : `/v1/schemas/${encodeURIComponent(schemaId)}`;
  const schema = path === null ? null : (await read<{ readonly schema: unknown }>(http(), path)).schema;
  return { format, plan, files, schema };
}

const isFormat = (text: string | undefined): text is Format =>
  (FORMATS as readonly (string | undefined)[]).includes(text);

function targetOf({ schema }: Source, sender: string | null): Target {
  if (schema !== null) return { path: "/v1/collect/batch", member: "events" };
  const query = sender === null ? "" : `?sender=${encodeURIComponent(sender)}`;
  return { path: `/v1/import${query}`, member: "batch" };
}

/** A bar for the bytes that were read of the files. */
function createReading({ files }: Source, progress: Progress) {
  let bytes = 0;
  return {
    took: (more: number): void => void (bytes += more),
    show: (items: number): void => progress.show(files.bytes === null ? null : bytes / Math.max(files.bytes, 1), items),
  };
}

async function examine(context: Context, source: Source, target: Target): Promise<Survey> {
  const progress = createProgress(context.world, "items read");
  const reading = createReading(source, progress);
  try {
    const found = itemsOf(source, context.world, reading.took);
    return await surveyOf(context.http(RETRY_MS), found, target, source.schema, reading.show);
  } finally {
    progress.clear();
  }
}

interface Summary {
  sent: number;
  accepted: number;
  duplicates: number;
  rejected: number;
  unreadable: number;
}

async function sendAll(context: Context, source: Source, target: Target): Promise<Exit> {
  const { world, http, service } = context;
  const api = http(RETRY_MS);
  const progress = createProgress(world, "items");
  const reading = createReading(source, progress);
  const summary: Summary = { sent: 0, accepted: 0, duplicates: 0, rejected: 0, unreadable: 0 };
  let told = 0;
  const tell = (place: string, message: string): void => {
    told += 1;
    if (told > REASONS_MAX) return;
    progress.clear();
    world.err(`onym: ${plain(`${place}: ${message}`)}\n`);
  };
  const onProblem = ({ place, message }: { readonly place: string; readonly message: string }): void => {
    summary.unreadable += 1;
    tell(place, message);
  };
  const say = (text: string): void => {
    progress.clear();
    world.err(`onym: ${text}\n`);
  };
  const inOrder = createAliasOrder({
    queue: () => awaitEarlier(api, RETRY_MS, say),
    users: (users) => awaitUsers(api, users, RETRY_MS),
    reader: () => userReaderOf(api),
  });
  try {
    for await (const batch of batchesOf(itemsOf(source, world, reading.took), target, onProblem)) {
      for await (const items of target.member === "batch" ? inOrder(batch.items) : [batch.items]) {
        const { accepted, duplicates, rejected, reasons } = await deliver(api, target, batchOf(items, target));
        summary.sent += items.length;
        summary.accepted += accepted;
        summary.duplicates += duplicates;
        summary.rejected += rejected;
        for (const { place, message } of reasons) tell(place, message);
        reading.show(summary.sent);
      }
    }
  } catch (error) {
    progress.clear();
    const { message, exit } = failureOf(error, service.url);
    const again = "run it again to go on: nothing is stored twice";
    throw new CliError(exit, `stopped after ${count(summary.sent, "item")}: ${message}; ${again}`, { cause: error });
  }
  progress.clear();
  // The service names only the first of each batch.
  const untold = summary.rejected + summary.unreadable - Math.min(told, REASONS_MAX);
  if (untold > 0) world.err(`onym: and ${count(untold, "more problem")}\n`);
  await context.print(summary, showSummary(summary));
  return summary.rejected + summary.unreadable === 0 ? EXIT.done : EXIT.refused;
}

const showSummary = ({ sent, accepted, duplicates, rejected, unreadable }: Summary): string =>
  [
    `${count(sent, "item")} sent: ${accepted.toLocaleString("en-US")} accepted`,
    ...(duplicates > 0 ? [`${duplicates.toLocaleString("en-US")} twice in one batch`] : []),
    ...(rejected > 0 ? [`${rejected.toLocaleString("en-US")} refused`] : []),
    ...(unreadable > 0 ? [`${unreadable.toLocaleString("en-US")} could not be sent`] : []),
  ].join(", ");

const listed = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([name, many]) => `${plain(name)} ${many.toLocaleString("en-US")}`)
    .join(", ") || "none";

function showSurvey(survey: Survey, { plan }: Source): string {
  const { items, types, first, last, identifiers, limits, remarks, unfit, checked } = survey;
  const traits = plan?.traits.map(({ name, type }) => `${name} ${type}`) ?? [];
  const unchecked = checked < items ? ` of the first ${checked}, the only ones that were checked` : "";
  const lines = [
    `${count(items, "item")}${first === null ? "" : `, ${first} to ${last}`}`,
    `  ${listed(types)}`,
    `identifiers: ${listed(identifiers)}`,
    ...(traits.length > 0 ? [`traits: ${traits.join(", ")}`] : []),
    `blocked or invalid identifiers: ${survey.dropped.toLocaleString("en-US")}`,
    `merges that limits refuse: ${survey.refusedMerges.toLocaleString("en-US")} (limits: ${listed(limits)})`,
    `cannot be sent: ${survey.unreadable.toLocaleString("en-US")}`,
    `would be refused or quarantined: ${unfit.toLocaleString("en-US")}${unchecked}`,
    ...(survey.isPartial ? ["there are too many identifiers to foresee all merges"] : []),
    ...remarks.map(({ place, message }) => `  ${plain(`${place}: ${message}`)}`),
  ];
  return lines.join("\n");
}
