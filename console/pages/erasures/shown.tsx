import type { JSX } from "preact";
import { Badge, count, showNumber } from "../../ui/kit.js";
import { visible } from "../people/parts/text.js";
import type { Receipt } from "./records.js";

/** "2 email, 1 cookie_id". */
export function Counts({ of }: { readonly of: Readonly<Record<string, number>> }): JSX.Element {
  const named = Object.entries(of);
  if (named.length === 0) return <span class="soft">none</span>;
  // A number stays with what it counts.
  return <span class="break">{named.map(([name, times]) => `${times}\u00a0${visible(name)}`).join(", ")}</span>;
}

export const State = ({
  of: { status, suppress, readmitted_at: readmitted },
}: {
  readonly of: Receipt;
}): JSX.Element => (
  <span class="row nowrap">
    <Badge tone={status === "completed" ? "good" : "info"}>{status}</Badge>
    {suppress && (readmitted === null ? <Badge tone="warn">kept out</Badge> : <Badge>readmitted</Badge>)}
  </span>
);

const REMOVED: Readonly<Record<string, readonly [one: string, many?: string]>> = {
  events: ["event"],
  damaged_events: ["of these events was damaged", "of these events were damaged"],
  facets: ["facet (the data of one identifier)", "facets (the data of one identifier each)"],
  links: ["link"],
  dead_letters: ["dead letter"],
  memberships: ["membership of an audience", "memberships of audiences"],
};

/** Records of changes, which stay. */
const KEPT = "changes_redacted";
export const sayKept = ({ [KEPT]: kept = 0 }: Receipt["removed"]): string =>
  kept === 0 ? "none" : `${showNumber(kept)} ${kept === 1 ? "stays" : "stay"}, without the person’s identifiers`;

/** What went, in words; what there was none of is left out. */
export const Removed = ({ of }: { readonly of: Receipt["removed"] }): JSX.Element => {
  const gone = Object.entries(of).filter(([name, times]) => name !== KEPT && times > 0);
  if (gone.length === 0) return <span class="soft">nothing was stored</span>;
  return (
    <ul>
      {gone.map(([name, times]) => {
        const [one, many] = REMOVED[name] ?? [name];
        return <li key={name}>{count(times, one, many)}</li>;
      })}
    </ul>
  );
};

const REMAINS: Readonly<Record<string, string>> = {
  backups: "Backups of the stores. If one is restored, the person is erased again from the log of erasures.",
  receivers: "What somebody has read or exported before.",
  queued_messages: "Events that still wait in the queue: they are dropped when it is their turn.",
  payloads_of_others: "Events of other people whose payload names the person.",
  unreadable_messages: "Dead letters, also quarantined ones, in which no identifier can be found.",
  settings: "What an admin wrote into the settings, such as blocked values.",
  free_space_mongodb: "MongoDB writes over freed space in its own time.",
  free_space_neo4j: "Neo4j writes over freed space in its own time.",
};

export const Remains = ({ of }: { readonly of: Receipt["remains"] }): JSX.Element => (
  <ul>
    {of.map((name) => (
      <li key={name}>{REMAINS[name] ?? name}</li>
    ))}
  </ul>
);
