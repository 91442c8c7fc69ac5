import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useAnswer } from "../../api/answer.js";
import { usePages } from "../../api/hooks.js";
import type { PageProps } from "../../state/pages.js";
import { go, href } from "../../state/router.js";
import {
  Bones,
  BothTimes,
  Button,
  Card,
  count,
  Empty,
  Failure,
  Id,
  LinkButton,
  Num,
  PagedTable,
  PageFrame,
  Table,
  TextField,
  Time,
} from "../../ui/kit.js";
import { LetterLink, StatusBadge } from "./event.js";
import { find, VALUE_MAX } from "./find.js";
import { useNamespaces } from "./parts/choose.js";
import { OutcomeBadge } from "./parts/evidence.js";
import type { Identifier, Profile } from "./parts/records.js";
import { brief, Name, visible } from "./parts/text.js";

export function Page({ query }: PageProps): JSX.Element {
  const asked = query.get("q") ?? "";
  const [text, setText] = useState(asked);
  const [looks, setLooks] = useState(0);
  useEffect(() => setText(asked), [asked]);
  const isTooLong = Array.from(text).length > VALUE_MAX;
  return (
    <PageFrame
      title="Search"
      intro="Find a person by anything that is known of them, such as an e-mail address, a login, a cookie or a phone number, or by the id of a profile, an event or a change."
    >
      <form
        class="finder"
        role="search"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (isTooLong) return;
          // The same once more: somebody waits for what was sent just now.
          if (text.trim() === asked) setLooks(looks + 1);
          else go(href("/search", {}, { q: text.trim() }));
        }}
      >
        <TextField
          label="Value or id"
          type="search"
          value={text}
          onInput={setText}
          placeholder="ada@example.com"
          wrong={isTooLong ? `No identifier is longer than ${VALUE_MAX.toLocaleString("en")} characters.` : null}
        />
        <Button kind="primary" icon="search" type="submit" disabled={isTooLong}>
          Search
        </Button>
      </form>
      {asked === "" ? <Oldest key={looks} /> : <Result key={`${looks} ${asked}`} of={asked} />}
    </PageFrame>
  );
}

function Result({ of }: { readonly of: string }): JSX.Element {
  const { names, error } = useNamespaces();
  const found = useAnswer(names === null ? null : of, (signal) => find(of, names!, signal));
  if (error !== null) return <Failure error={error} />;
  if (found.error !== null) return <Failure error={found.error} onRetry={found.again} />;
  if (found.data === null)
    return (
      <Card>
        <Bones lines={3} />
      </Card>
    );
  const { profiles, event, change } = found.data;
  if (profiles.length === 0 && event === null && change === null)
    return (
      <Card>
        <Empty
          icon="search"
          title="Nobody is known by this"
          action={
            <>
              <LinkButton href="#/stats">Open statistics</LinkButton>
              <LinkButton href="#/live">Open live events</LinkButton>
            </>
          }
        >
          No profile has “<bdi class="break">{brief(of)}</bdi>” in any of the {names?.length ?? 0} namespaces. E-mail
          addresses and phone numbers are found in any spelling, other values only as they were sent. Events that were
          refused, or whose schema has no <a href="#/datasets">dataset</a> that is folded, do not create profiles.
        </Empty>
      </Card>
    );
  return (
    <>
      {profiles.length > 0 && (
        <Card title={`${count(profiles.length, "profile")} found`} isFlush>
          <People rows={profiles} />
        </Card>
      )}
      {event !== null && (
        <Card
          title="An event"
          actions={<LinkButton href={href("/events/:id", { id: event.event_id })}>Open the event</LinkButton>}
        >
          <p class="row">
            <StatusBadge of={event} /> {visible(event.schema_id)}, <Time at={event.received_at} />
            <LetterLink of={event} />
          </p>
        </Card>
      )}
      {change !== null && (
        <Card
          title="A change"
          actions={<LinkButton href={href("/changes/:id", { id: change.change_id })}>Open the change</LinkButton>}
        >
          <p class="row">
            <OutcomeBadge outcome={change.outcome} /> <Time at={change.at} />
          </p>
        </Card>
      )}
    </>
  );
}

interface Row {
  readonly profile: Profile;
  readonly matched: readonly Identifier[];
}
const NAMED_MAX = 3;

const columns = (matching: boolean) => [
  {
    name: matching ? "Found by" : "Known by",
    fit: "wide" as const,
    show: ({ profile, matched }: Row) => (
      <KnownBy id={profile.profile_id} of={matched.length > 0 ? matched : profile.identifiers} />
    ),
  },
  { name: "Profile id", show: ({ profile }: Row) => <Id id={profile.profile_id} what="the profile id" /> },
  {
    name: "Identifiers",
    fit: "end" as const,
    show: ({ profile: { identifiers, partial } }: Row) => (
      <>
        <Num value={identifiers.length} />
        {partial === true && "+"}
      </>
    ),
  },
  { name: "Events", fit: "end" as const, show: ({ profile }: Row) => <Num value={profile.event_count} /> },
  {
    name: "Last seen",
    show: ({ profile: { last_seen: at } }: Row) =>
      at === null ? <span class="soft">never</span> : <BothTimes at={at} />,
  },
  {
    name: "Actions",
    isNameless: true,
    fit: "end" as const,
    show: ({ profile: { profile_id: id }, matched: [by] }: Row) => (
      <LinkButton isSmall href={href("/profiles/:id", { id }, { ...by })} label={`Open the profile ${id}`}>
        Open
      </LinkButton>
    ),
  },
];

const People = ({ rows }: { readonly rows: readonly Row[] }): JSX.Element => (
  <Table label="Profiles" rows={rows} keyOf={({ profile }) => profile.profile_id} columns={columns(true)} />
);

const KnownBy = ({ id, of }: { readonly id: string; readonly of: readonly Identifier[] }): JSX.Element => (
  <span class="stack-tight">
    {of.slice(0, NAMED_MAX).map((one) => (
      <Name key={`${one.namespace} ${one.value}`} of={one} href={href("/profiles/:id", { id }, { ...one })} />
    ))}
    {of.length > NAMED_MAX && <span class="soft small">and {count(of.length - NAMED_MAX, "more", "more")}</span>}
  </span>
);

const SHOWN_FIRST = 10;

/** Somebody to begin with. */
function Oldest(): JSX.Element {
  const pages = usePages<Profile>(`/v1/profiles?limit=${SHOWN_FIRST}`, "profiles");
  return (
    <Card title="Profiles" note="All profiles, oldest first" isFlush>
      <PagedTable
        label="Profiles"
        pages={{ ...pages, items: pages.items?.map((profile) => ({ profile, matched: [] })) ?? null }}
        keyOf={({ profile }: Row) => profile.profile_id}
        columns={columns(false)}
        empty={
          <Empty
            icon="person"
            title="Nobody is known yet"
            action={
              <LinkButton kind="primary" href="#/start">
                Set up a sender
              </LinkButton>
            }
          >
            A profile begins with the first event of an SDK, the first event of a dataset that is folded into profiles,
            or the first identify call.
          </Empty>
        }
      />
    </Card>
  );
}
