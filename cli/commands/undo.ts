import { read, write, type Command } from "../command.js";
import { CliError, EXIT, usage } from "../fail.js";
import { flagIn, identifierIn } from "../options.js";

interface Ref {
  readonly profile_id: string;
  readonly size: number;
}

interface Undone {
  readonly outcome: string;
  readonly change_id: string | null;
  readonly profile_ids: readonly string[];
  readonly before?: readonly Ref[];
  readonly after?: readonly Ref[];
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export const undo: Command = {
  name: "undo",
  summary: "takes back a change, or takes identifiers apart",
  help: `onym undo CHANGE_ID [options]                          takes back what the change did
onym undo NAMESPACE:VALUE [options]                    takes the identifier from all others
onym undo NAMESPACE:VALUE NAMESPACE:VALUE [options]    takes the two from each other
Shows what it would do, and asks.

  --dry-run        only shows it
  --yes            does not ask
  --forbid         the two may not come into one profile again
`,
  options: { "dry-run": { type: "boolean" }, yes: { type: "boolean" }, forbid: { type: "boolean" } },
  run: async ({ positionals, values, world, http, print }) => {
    const { path, body } = requestOf(positionals, flagIn(values, "forbid"));
    const api = http();
    const isTrial = flagIn(values, "dry-run");
    if (isTrial || !flagIn(values, "yes")) {
      const trial = await read<Undone>(api, `${path}?dry_run=true`, body);
      if (isTrial) {
        await print(trial, showTrial(trial));
        return EXIT.done;
      }
      if (world.ask === null) throw usage("nobody can be asked here: say --yes or --dry-run");
      world.err(`${showTrial(trial)}\n`);
      if (trial.outcome !== "unchanged" && !(await world.ask("Do it?")))
        throw new CliError(EXIT.refused, "nothing was changed");
    }
    const undone = await write<Undone>(api, "POST", path, body);
    const change = undone.change_id === null ? "" : `, change ${undone.change_id}`;
    await print(undone, `${undone.outcome}${change}\nprofiles: ${undone.profile_ids.join(" ")}`);
    return EXIT.done;
  },
};

function requestOf(positionals: readonly string[], forbid: boolean): { readonly path: string; readonly body: object } {
  const [first, second, ...more] = positionals;
  if (first === undefined || more.length > 0) throw usage("name a change, or one or two identifiers");
  if (second === undefined && UUID.test(first)) {
    if (forbid) throw usage("--forbid: needs two identifiers");
    return { path: `/v1/changes/${first}/revert`, body: {} };
  }
  const path = "/v1/identity/unlink";
  const from = identifierIn(first);
  if (second !== undefined) return { path, body: { from, to: identifierIn(second), ...(forbid && { forbid }) } };
  if (forbid) throw usage("--forbid: needs two identifiers");
  return { path, body: { identifier: from } };
}

const showRefs = (refs: readonly Ref[] = []): string =>
  refs.map(({ profile_id: id, size }) => `${id} (${size})`).join(", ");

const showTrial = ({ outcome, before, after }: Undone): string =>
  `would be: ${outcome}\nprofiles before (identifiers): ${showRefs(before)}\nprofiles after (identifiers): ${showRefs(after)}`;
