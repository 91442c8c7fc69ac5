import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { useQuery } from "../../api/hooks.js";
import type { Audience, EntryType, FeedEntry } from "../../api/audiences.js";
import type { PageProps } from "../../state/pages.js";
import { go, href } from "../../state/router.js";
import { useMay } from "../../state/session.js";
import {
  Badge,
  BothTimes,
  Bones,
  Button,
  Card,
  Empty,
  Failure,
  Id,
  LinkButton,
  Num,
  PageFrame,
  SelectField,
  Table,
  type Tone,
} from "../../ui/kit.js";
import { useFeed } from "./feed-reader.js";
import { Person, useNames, type Names } from "./people.js";
import "../../styles/live.css";

const TYPES: Readonly<Record<EntryType, readonly [text: string, tone: Tone]>> = {
  entered: ["entered", "good"],
  left: ["left", "warn"],
  audience_deleted: ["audience deleted", "neutral"],
  profile_erased: ["person erased", "bad"],
};

const CAUSES: Readonly<Record<string, string>> = {
  changed: "its data changed",
  time: "a window ended",
  merged: "it merged into",
  split: "a merge was undone",
  rule: "the rule changed",
  built: "the audience is new",
  erased: "the person was erased",
  // The types of entries that have no cause.
  audience_deleted: "the audience was deleted",
  profile_erased: "the person was erased",
};

export function Page({ query }: PageProps): JSX.Element {
  const audienceId = query.get("audience") ?? "";
  const feed = useFeed(audienceId);
  const names = useAudienceNames(feed.entries);
  const mayWebhook = useMay("admin");
  const options = [
    ["", "All audiences"] as const,
    ...names,
    ...(audienceId !== "" && !names.has(audienceId) ? [[audienceId, audienceId] as const] : []),
  ];
  return (
    <PageFrame
      title="Feed"
      intro="Who entered an audience, who left it and who was erased, as it happens: the newest first."
      actions={mayWebhook && <LinkButton href="#/webhooks">Send it to a webhook</LinkButton>}
    >
      <div class="toolbar">
        <SelectField
          label="Audience"
          value={audienceId}
          options={options}
          onChange={(audience) => go(href("/feed", {}, { audience }), { replace: true })}
        />
        <span class={`live-state ${feed.isWatching ? "open" : ""}`} role="status">
          {feed.isWatching ? "Watching" : "Connecting"}
        </span>
      </div>
      <Failure error={feed.error} />
      <Card isFlush>
        {feed.entries === null ? (
          <Bones />
        ) : feed.entries.length === 0 ? (
          <Nothing isFiltered={audienceId !== ""} hasAudiences={names.size > 0} hasEarlier={feed.earlier !== null} />
        ) : (
          <Entries entries={feed.entries} names={names} />
        )}
        {feed.earlier !== null && (
          <div class="card-foot">
            <Button isSmall isBusy={feed.isReading} onClick={feed.earlier}>
              Show earlier ones
            </Button>
          </div>
        )}
      </Card>
    </PageFrame>
  );
}

/** The names of the audiences, read again when an entry is of one that was not there. */
function useAudienceNames(entries: readonly FeedEntry[] | null): ReadonlyMap<string, string> {
  const audiences = useQuery<{ readonly audiences: readonly Audience[] }>("/v1/audiences?limit=100");
  const list = audiences.data?.audiences;
  const names = useMemo(() => new Map((list ?? []).map((one) => [one.audience_id, one.name])), [list]);
  const asked = useRef(new Set<string>());
  useEffect(() => {
    if (list === undefined) return;
    const unknown = (entries ?? []).flatMap(({ audience_id: id }) =>
      id === undefined || names.has(id) || asked.current.has(id) ? [] : [id],
    );
    if (unknown.length === 0) return;
    // Once: those that are deleted stay unknown.
    for (const id of unknown) asked.current.add(id);
    audiences.reload();
  }, [entries, list]);
  return names;
}

function Nothing({
  isFiltered,
  hasAudiences,
  hasEarlier,
}: {
  readonly isFiltered: boolean;
  readonly hasAudiences: boolean;
  readonly hasEarlier: boolean;
}): JSX.Element {
  const mayEdit = useMay("editor");
  if (hasEarlier)
    return (
      <Empty icon="feed" title="Nobody came or went lately">
        The newest entries of the feed are of other audiences. Earlier ones may be of this one.
      </Empty>
    );
  if (hasAudiences || isFiltered)
    return (
      <Empty icon="feed" title="Nobody came or went yet">
        An entry shows here as soon as a profile enters an audience or leaves it.
      </Empty>
    );
  return (
    <Empty
      icon="feed"
      title="There is no audience yet"
      {...(mayEdit && {
        action: (
          <LinkButton kind="primary" icon="add" href="#/new-audience">
            New audience
          </LinkButton>
        ),
      })}
    >
      Make one: the feed then says who enters it and who leaves it.
    </Empty>
  );
}

function Entries({
  entries,
  names,
}: {
  readonly entries: readonly FeedEntry[];
  readonly names: ReadonlyMap<string, string>;
}): JSX.Element {
  const known = useNames(useMemo(() => peopleOf(entries), [entries]));
  const people = useMemo(() => withoutErased(known, entries), [known, entries]);
  return (
    <Table
      label="Entries"
      rows={entries}
      keyOf={({ seq }) => String(seq)}
      columns={[
        { name: "Feed entry", fit: "end", show: ({ seq }) => <Num value={seq} /> },
        {
          name: "What",
          show: ({ type }) => {
            const [text, tone] = TYPES[type];
            return <Badge tone={tone}>{text}</Badge>;
          },
        },
        {
          name: "Profile",
          show: ({ profile_id: id }) =>
            id === undefined ? <span class="soft">none</span> : <Person id={id} names={people} />,
        },
        {
          name: "Audience",
          fit: "wide",
          show: ({ audience_id: id }) =>
            id === undefined ? (
              <span class="soft">all audiences</span>
            ) : names.has(id) ? (
              <a href={href("/audiences/:id", { id })}>
                <bdi>{names.get(id)}</bdi>
              </a>
            ) : (
              <Id id={id} what="the id of a deleted audience" />
            ),
        },
        {
          name: "Why",
          show: ({ type, cause = type, into }) => (
            <span class="row cause">
              {CAUSES[cause] ?? cause}
              {into !== undefined && <Person id={into} names={people} />}
            </span>
          ),
        },
        { name: "When", show: ({ at }) => <BothTimes at={at} /> },
      ]}
    />
  );
}

const peopleOf = (entries: readonly FeedEntry[]): readonly string[] =>
  entries.flatMap(({ profile_id: id, into }) => [id, into].filter((one) => one !== undefined));

/** Nobody is named any more once they are erased. */
function withoutErased(names: Names, entries: readonly FeedEntry[]): Names {
  const erased = entries.flatMap(({ type, profile_id: id }) =>
    type === "profile_erased" && id !== undefined ? [id] : [],
  );
  return erased.length === 0 ? names : new Map([...names, ...erased.map((id) => [id, null] as const)]);
}
