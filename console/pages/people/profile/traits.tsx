import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useQuery } from "../../../api/hooks.js";
import { href } from "../../../state/router.js";
import { Button, Card, Copy, Empty, Id, LinkButton, Loaded, Table, Time, visible } from "../../../ui/kit.js";
import type { Profile, Scalar, SourcedTrait, TraitValue } from "../parts/records.js";
import { brief, Value, Worth } from "../parts/text.js";

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
/** Of a text: this much is shown at once, in as many lines as it takes, and can be seen to go on. */
const [COPIED_MIN, LETTERS_MAX] = [60, 160];

function One({ value }: { readonly value: Scalar }): JSX.Element {
  const [isWhole, setWhole] = useState(false);
  if (typeof value !== "string" || value.length <= COPIED_MIN) return <Worth value={value} />;
  return (
    <span class="long-value">
      <bdi class="sent whole">{isWhole ? visible(value) : brief(value, LETTERS_MAX)}</bdi>{" "}
      {value.length > LETTERS_MAX && (
        <Button isSmall expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? "Show less" : "Show all"}
        </Button>
      )}
      <Copy text={value} what="the value" />
    </span>
  );
}

function Whole({ value }: { readonly value: TraitValue }): JSX.Element {
  if (!Array.isArray(value)) return <One value={value as Scalar} />;
  const all = value as Extract<TraitValue, readonly unknown[]>;
  return (
    <span class="values">
      {all.slice(0, SHOWN_MAX).map((one) => (
        <span key={JSON.stringify(one)} class="one-value">
          <One value={one} />
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
