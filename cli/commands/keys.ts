import { all, pages, write, type Command, type Context } from "../command.js";
import { CliError, EXIT, usage, type Exit } from "../fail.js";
import { flagIn, listIn, textIn, wholeIn } from "../options.js";
import { plain, table } from "../show.js";

interface Key {
  readonly key_id: string;
  readonly role: string;
  readonly send: string | null;
  readonly origins: readonly string[] | null;
  readonly per_minute: number | null;
  readonly name: string | null;
  readonly created_at: string;
  readonly expires_at: string | null;
}
type NewKey = Key & { readonly key: string; readonly old_expires_at?: string };

export const keys: Command = {
  name: "keys",
  summary: "lists, makes, rotates and revokes API keys",
  help: `onym keys list                 all keys, without their secrets
onym keys create [options]     makes one, and prints it: it is not shown again
onym keys rotate KEY_ID        makes a new key of the same kind; the old one works for another 24 hours
onym keys delete KEY_ID        revokes it, after asking
Needs an owner key.

  --role ROLE      viewer, editor, admin or owner (of create; editor)
  --name NAME      what it is for
  --send WHAT      collect (a web page or an app) or all (a back end): it may only send
  --origin ORIGIN  a page that may use it, such as https://shop.example; repeatable; with --send
  --per-minute N   events that it may send in a minute; with --send
  --expires-at T   when it stops working, such as 2027-01-31T00:00:00Z
  --yes            does not ask
`,
  options: {
    role: { type: "string", default: "editor" },
    name: { type: "string" },
    send: { type: "string" },
    origin: { type: "string", multiple: true },
    "per-minute": { type: "string" },
    "expires-at": { type: "string" },
    yes: { type: "boolean" },
  },
  run: async (context) => {
    const [action = "list", id, ...more] = context.positionals;
    const run = Object.hasOwn(ACTIONS, action) ? ACTIONS[action as keyof typeof ACTIONS] : null;
    if (run === null) throw usage(`keys: ${JSON.stringify(action)} must be one of ${Object.keys(ACTIONS).join(", ")}`);
    const takesId = action === "rotate" || action === "delete";
    if (more.length > 0 || takesId !== (id !== undefined))
      throw usage(takesId ? `keys ${action}: name one key id` : `keys ${action}: takes no key id`);
    return run(context, id ?? "");
  },
};

const ACTIONS = { list, create, rotate, delete: revoke } as const satisfies Readonly<
  Record<string, (context: Context, id: string) => Promise<Exit>>
>;

async function list({ http, print }: Context): Promise<Exit> {
  const found = await all(pages<Key>(http(), "/v1/keys", "keys"));
  const rows = found.map((key) => [
    key.key_id,
    key.role,
    key.send ?? "-",
    plain(key.name ?? "-"),
    key.created_at,
    key.expires_at ?? "-",
  ]);
  await print({ keys: found }, table([["KEY_ID", "ROLE", "SEND", "NAME", "CREATED_AT", "EXPIRES_AT"], ...rows]));
  return EXIT.done;
}

async function create({ http, print, values }: Context): Promise<Exit> {
  const origins = listIn(values, "origin");
  const given = {
    role: textIn(values, "role"),
    name: textIn(values, "name"),
    send: textIn(values, "send"),
    origins: origins.length === 0 ? null : origins,
    per_minute: wholeIn(values, "per-minute", { min: 1, max: 1_000_000 }),
    expires_at: textIn(values, "expires-at"),
  };
  const body = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));
  const made = await write<NewKey>(http(), "POST", "/v1/keys", body);
  await print(made, made.key);
  return EXIT.done;
}

async function rotate({ http, print, world }: Context, id: string): Promise<Exit> {
  const made = await write<NewKey>(http(), "POST", `/v1/keys/${encodeURIComponent(id)}/rotate`, {});
  world.err(`${id} works until ${made.old_expires_at}\n`);
  await print(made, made.key);
  return EXIT.done;
}

async function revoke({ http, print, values, world }: Context, id: string): Promise<Exit> {
  const api = http();
  if (!flagIn(values, "yes")) {
    if (world.ask === null) throw usage("nobody can be asked here: say --yes");
    if (!(await world.ask(`Revoke ${plain(id)}? Whoever sends with it is refused at once.`)))
      throw new CliError(EXIT.refused, "nothing was changed");
  }
  await write<undefined>(api, "DELETE", `/v1/keys/${encodeURIComponent(id)}`);
  await print({ key_id: id, revoked: true }, `revoked ${plain(id)}`);
  return EXIT.done;
}
