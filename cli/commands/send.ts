import { createClient, ApiError, type Client, type NewEvent } from "../../client/client.js";
import { read, type Command, type Context } from "../command.js";
import { CliError, EXIT, usage, type Exit } from "../fail.js";
import { linesOf } from "../import/lines.js";
import { requireExact } from "../json.js";
import { flagIn, textIn } from "../options.js";
import { plain } from "../show.js";

/** Events of one request. */
const BATCH_MAX = 500;
const RETRY_MS = 60_000;

export const send: Command = {
  name: "send",
  summary: "sends events",
  help: `onym send SCHEMA_ID PAYLOAD [options]    sends one event; PAYLOAD is JSON
onym send SCHEMA_ID [options]            sends one for each line of the input
Prints the id of each event once it is on the service's disk. Exit code 1 if one was refused.

  --timestamp T         when it happened, such as 2026-01-31T12:00:00Z (now)
  --idempotency-key K   of one event: sent again with the same --timestamp, it is not stored again
  --check               only asks what is wrong with one event
`,
  options: { timestamp: { type: "string" }, "idempotency-key": { type: "string" }, check: { type: "boolean" } },
  run: async (context) => {
    const [schemaId, payload, ...more] = context.positionals;
    if (schemaId === undefined || more.length > 0) throw usage("name a schema, then the payload in quotes");
    const { values, service, http } = context;
    const timestamp = textIn(values, "timestamp") ?? undefined;
    const key = textIn(values, "idempotency-key") ?? undefined;
    const eventOf = (text: string): NewEvent => ({
      schema_id: schemaId,
      payload: payloadIn(text),
      ...(timestamp !== undefined && { timestamp }),
      ...(key !== undefined && { idempotency_key: key }),
    });
    if (payload === undefined && (key !== undefined || flagIn(values, "check")))
      throw usage("--idempotency-key and --check: need one payload in the command");
    if (payload !== undefined && flagIn(values, "check")) return check(context, eventOf(payload));
    // Throws where there is no key.
    http();
    const client = createClient({ url: service.url, key: service.key!, batchMax: BATCH_MAX, retryMs: RETRY_MS });
    if (payload === undefined) return sendLines(context, client, eventOf);
    const [sent] = await sendAll(client, [eventOf(payload)]);
    if (sent!.status === "rejected") throw sent!.reason;
    await context.print(sent!.value, sent!.value.event_id);
    return EXIT.done;
  },
};

async function check({ http, print }: Context, { schema_id, payload, timestamp = now() }: NewEvent): Promise<Exit> {
  const body = { schema_id, payload, timestamp };
  const checked = await read<Awaited<ReturnType<Client["check"]>>>(http(), "/v1/collect?syncValidation=true", body);
  const { status, errors } = checked;
  await print(checked, [status, ...errors.map(({ path, message }) => plain(`  ${path}: ${message}`))].join("\n"));
  return status === "pass" ? EXIT.done : EXIT.refused;
}

const now = (): string => new Date().toISOString();

function payloadIn(text: string): NewEvent["payload"] {
  const value = valueIn(text);
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new CliError(EXIT.refused, "the payload is not a JSON object");
  requireExact(Buffer.from(text));
  return value as NewEvent["payload"];
}

/** Undefined: it is no JSON. */
function valueIn(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

async function sendAll(client: Client, events: readonly NewEvent[]) {
  const sent = events.map((event) => client.collect(event));
  await client.flush();
  return Promise.allSettled(sent);
}

interface Waiting {
  readonly line: number;
  readonly event: NewEvent;
}

/** A batch is sent before the next is read. */
async function sendLines(
  { world, print }: Context,
  client: Client,
  eventOf: (text: string) => NewEvent,
): Promise<Exit> {
  let exit: Exit = EXIT.done;
  let batch: Waiting[] = [];
  const refused = (line: number, message: string): void => {
    exit = EXIT.refused;
    world.err(`onym: line ${line}: ${plain(message)}\n`);
  };
  const sendBatch = async (): Promise<void> => {
    const sent = await sendAll(
      client,
      batch.map(({ event }) => event),
    );
    for (const [at, one] of sent.entries()) {
      if (one.status === "fulfilled") await print(one.value, one.value.event_id);
      else if (one.reason instanceof ApiError && one.reason.problem.status === 422)
        refused(batch[at]!.line, one.reason.problem.detail);
      else throw one.reason;
    }
    batch = [];
  };
  for await (const { number, bytes } of linesOf(world.stdin)) {
    try {
      batch.push({ line: number, event: eventOf(bytes.toString("utf8")) });
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      refused(number, error.message);
    }
    if (batch.length === BATCH_MAX) await sendBatch();
  }
  if (batch.length > 0) await sendBatch();
  return exit;
}
