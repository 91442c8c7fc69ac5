import type { ComponentChildren, JSX } from "preact";
import type { Pages } from "../../../api/hooks.js";
import { href } from "../../../state/router.js";
import { BothTimes, count, LinkButton, PagedTable } from "../../../ui/kit.js";
import { OutcomeBadge, RULES, Source } from "./evidence.js";
import type { Change } from "./records.js";
import { Name } from "./text.js";

const NAMED_MAX = 3;

/** Changes of who is who, each with the way to its page. */
export const ChangesTable = ({
  pages,
  empty,
}: {
  readonly pages: Pages<Change>;
  readonly empty: ComponentChildren;
}): JSX.Element => (
  <PagedTable
    label="Changes"
    pages={pages}
    keyOf={({ change_id: id }) => id}
    empty={empty}
    columns={[
      {
        name: "Outcome",
        show: ({ outcome, rule }) => (
          <span class="stack-tight">
            <OutcomeBadge outcome={outcome} />
            {rule !== undefined && <span class="soft small">{RULES[rule]}</span>}
          </span>
        ),
      },
      { name: "Who", fit: "wide", show: (change) => <Who of={change} /> },
      {
        name: "Source",
        means: "The event, call or limit that made this change.",
        show: (change) => <Source of={change} />,
      },
      { name: "When", show: ({ at }) => <BothTimes at={at} /> },
      {
        name: "Actions",
        isNameless: true,
        fit: "end",
        show: ({ change_id: id }) => (
          <LinkButton isSmall href={href("/changes/:id", { id })} label={`Open the change ${id}`}>
            Open
          </LinkButton>
        ),
      },
    ]}
  />
);

const Who = ({ of: { identifiers, dropped } }: { readonly of: Change }): JSX.Element => (
  <span class="stack-tight">
    {identifiers.slice(0, NAMED_MAX).map((one, i) => (
      <Name key={i} of={one} />
    ))}
    {identifiers.length > NAMED_MAX && (
      <span class="soft small">and {count(identifiers.length - NAMED_MAX, "more identifier")}</span>
    )}
    {dropped.length > 0 && <span class="soft small">{count(dropped.length, "part")} left out</span>}
  </span>
);
