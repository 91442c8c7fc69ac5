import type { LookedUp } from "../../client/client.js";
import { read, type Command } from "../command.js";
import { EXIT, usage } from "../fail.js";
import { identifierIn, wholeIn } from "../options.js";
import { showIdentifier } from "../show.js";

const REQUEST_MAX = 100;

export const lookup: Command = {
  name: "lookup",
  summary: "shows the profiles of identifiers",
  help: `onym lookup NAMESPACE:VALUE ... [options]
Shows the profile of each. Exit code 1 if one has none.

  --wait SECONDS   until they are known and their events are in the profile, 0 to 10
`,
  options: { wait: { type: "string" } },
  onlyPrints: true,
  run: async ({ positionals, values, http, print }) => {
    const identifiers = positionals.map(identifierIn);
    if (identifiers.length === 0 || identifiers.length > REQUEST_MAX)
      throw usage(`name 1 to ${REQUEST_MAX} identifiers`);
    const wait = wholeIn(values, "wait", { min: 0, max: 10 }) ?? 0;
    const found = await read<LookedUp>(http(), `/v1/profiles/lookup?wait=${wait}`, { identifiers });
    const unknown = found.unknown.map((one) => `${showIdentifier(one)}: no profile`);
    await print(found, [...found.profiles.map(showProfile), ...unknown].join("\n\n"));
    return found.unknown.length === 0 ? EXIT.done : EXIT.refused;
  },
};

function showProfile(profile: LookedUp["profiles"][number]): string {
  const { profile_id: id, identifiers, traits, event_count: events, first_seen: first, last_seen: last } = profile;
  return [
    `profile ${id}`,
    ...identifiers.map((one) => `  ${showIdentifier(one)}`),
    ...Object.entries(traits).map(([name, value]) => `  ${name} = ${JSON.stringify(value)}`),
    `  ${events} event${events === 1 ? "" : "s"}${first === null ? "" : `, ${first} to ${last}`}`,
    ...(profile.partial === true ? ["  only a part of its identifiers is shown"] : []),
  ].join("\n");
}
