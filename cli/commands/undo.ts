import { read, write, type Command } from "../command.js";
import { CliError, EXIT, usage } from "../fail.js";
import { flagIn, identifierIn, type Identifier } from "../options.js";
import { GOES_ON, showLink, showPair, type Link } from "../show.js";

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
  /** How many there are of these: the lists end after the first 1,000. */
  readonly profiles_before?: number;
  readonly profiles_after?: number;
  /** Other links by which the two are still one person. */
  readonly still_joined_by?: readonly Link[];
  /** There are more of these, or of the dropped ones. */
  readonly partial?: true;
  /** Links that a revert could not give back. */
  readonly dropped?: readonly { readonly from: Identifier; readonly to: Identifier; readonly rule: string }[];
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export const undo: Command = {
  name: "undo",
  summary: "takes back a change, or takes identifiers apart",
  help: `onym undo CHANGE_ID [options]                          takes back what the change did
onym undo NAMESPACE:VALUE [options]                    takes the identifier from all others
onym undo NAMESPACE:VALUE NAMESPACE:VALUE [options]    takes the two from each other
Shows what it would do, and asks. Also shows what stays: links that a rule keeps out, and other links that still hold
the two in one profile. The exit code is 0 then, too.

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
    const profiles = `profiles: ${undone.profile_ids.join(" ")}`;
    await print(undone, [`${undone.outcome}${change}`, profiles, ...showStaying(undone)].join("\n"));
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

function showRefs(refs: readonly Ref[] = [], all = refs.length): string {
  const told = refs.map(({ profile_id: id, size }) => `${id} (${size})`).join(", ");
  return all > refs.length ? `${told}, and ${(all - refs.length).toLocaleString("en-US")} more` : told;
}

const showTrial = (trial: Undone): string =>
  [
    `would be: ${trial.outcome}`,
    `profiles before (identifiers): ${showRefs(trial.before, trial.profiles_before)}`,
    `profiles after (identifiers): ${showRefs(trial.after, trial.profiles_after)}`,
    ...showStaying(trial),
  ].join("\n");

/** What the undo does not reach. */
const showStaying = ({ still_joined_by: links = [], partial, dropped = [] }: Undone): readonly string[] => [
  ...(links.length > 0 ? ["still in one profile, held together by:"] : []),
  ...links.map((link) => `  ${showLink(link)}`),
  ...dropped.map((link) => `not linked again: ${showPair(link)} (rule: ${link.rule})`),
  ...(partial ? [GOES_ON] : []),
];
