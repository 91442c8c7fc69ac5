import type { JSX } from "preact";
import { useQuery } from "../../../api/hooks.js";
import { href } from "../../../state/router.js";
import { Card, Empty, Id, LinkButton, Loaded, Table, Time } from "../../../ui/kit.js";
import type { Profile, SourcedTrait, TraitValue } from "../parts/records.js";
import { Value, Worth } from "../parts/text.js";

const MERGES: Readonly<Record<SourcedTrait["merge"], string>> = {
  latest: "the latest",
  first: "the first",
  min: "the smallest of all events",
  max: "the greatest of all events",
  union: "every value of all events",
  sum: "added up over all events",
  count: "counted over all events",
};

/** What is known of the person, and which event said so. */
export function Traits({ of }: { readonly of: Profile }): JSX.Element {
  const traits = useQuery<{ readonly traits: readonly SourcedTrait[] }>(`/v1/profiles/${of.profile_id}/traits`);
  return (
    <Card isFlush>
      <Loaded {...traits} lines={Math.max(3, Object.keys(of.traits).length * 2)}>
        {({ traits: all }) =>
          all.length === 0 ? (
            <Empty
              icon="person"
              title="No traits yet"
              action={
                <LinkButton kind="primary" href="#/schemas">
                  To the schemas
                </LinkButton>
              }
            >
              A trait comes from a field of an event that the schema marks with <code>x-trait</code>.
            </Empty>
          ) : (
            <Table
              label="Traits"
              rows={all}
              keyOf={({ name }) => name}
              columns={[
                {
                  name: "Trait",
                  show: ({ name }) => (
                    <strong class="trait-name">
                      <Value text={name} />
                    </strong>
                  ),
                },
                { name: "Value", fit: "wide", show: ({ value }) => <Whole value={value} /> },
                { name: "Source", show: (trait) => <SourceOf trait={trait} /> },
              ]}
            />
          )
        }
      </Loaded>
    </Card>
  );
}

const SHOWN_MAX = 20;

function Whole({ value }: { readonly value: TraitValue }): JSX.Element {
  if (!Array.isArray(value)) return <Worth value={value as Exclude<TraitValue, readonly unknown[]>} />;
  const all = value as Extract<TraitValue, readonly unknown[]>;
  return (
    <span class="values">
      {all.slice(0, SHOWN_MAX).map((one) => (
        <span key={JSON.stringify(one)} class="one-value">
          <Worth value={one} />
        </span>
      ))}
      {all.length > SHOWN_MAX && (
        <span class="soft small">and {(all.length - SHOWN_MAX).toLocaleString("en")} more</span>
      )}
    </span>
  );
}

const SourceOf = ({ trait: { merge, event_id: id, at } }: { readonly trait: SourcedTrait }): JSX.Element =>
  id === null ? (
    <span class="soft">{MERGES[merge]}</span>
  ) : (
    <span class="stack-tight">
      <span class="row source">
        event <Id id={id} href={href("/events/:id", { id })} what="the event id" />
      </span>
      <span class="soft small">
        {MERGES[merge]}
        {at !== null && (
          <>
            , <Time at={at} />
          </>
        )}
      </span>
    </span>
  );
