import type { ComponentChildren, JSX } from "preact";
import { useQuery } from "../../api/hooks.js";
import { withPayload } from "../../api/raw.js";
import type { PageProps } from "../../state/pages.js";
import { href } from "../../state/router.js";
import { useMay } from "../../state/session.js";
import {
  Badge,
  Card,
  ExactTime,
  Facts,
  Id,
  LinkButton,
  Loaded,
  Message,
  Missing,
  PageFrame,
  Sent,
  Table,
  type Tone,
} from "../../ui/kit.js";
import { ProfileLink, RULES } from "./parts/evidence.js";
import type { Event } from "./parts/records.js";
import { Name, visible } from "./parts/text.js";

const STATUSES: Readonly<Record<Event["status"], { readonly tone: Tone; readonly means: string }>> = {
  folded: { tone: "good", means: "its data was added to the profile" },
  stored: { tone: "info", means: "it is kept, and its data is in no profile so far" },
  dead: { tone: "bad", means: "it could not be processed" },
  dropped: { tone: "neutral", means: "nothing of it is kept" },
};

/** What the other pages call an event that is dead for this reason. */
const DEAD: Readonly<Record<string, { readonly name: string; readonly tone: Tone; readonly means: string }>> = {
  quarantined: { name: "quarantined", tone: "violet", means: "it was set aside, and comes into a profile by a replay" },
  rejected: { name: "refused", tone: "bad", means: "it was refused, and is kept for a replay" },
};
const stateOf = ({ status, reason }: Pick<Event, "status" | "reason">) =>
  (status === "dead" ? DEAD[reason ?? ""] : undefined) ?? { name: status, ...STATUSES[status] };

export const StatusBadge = ({ of }: { readonly of: Pick<Event, "status" | "reason"> }): JSX.Element => {
  const { name, tone, means } = stateOf(of);
  return (
    <span title={means}>
      <Badge tone={tone}>{name}</Badge>
    </span>
  );
};

/** Of an event that is dead: leads to what says why. */
export function LetterLink({ of }: { readonly of: Pick<Event, "status" | "event_id"> }): JSX.Element | null {
  const mayRead = useMay("admin");
  if (of.status !== "dead") return null;
  if (!mayRead) return <span>Its dead letter, which an admin can open, says why.</span>;
  return <a href={href("/dead-letters", {}, { state: "all", event_id: of.event_id })}>Open its dead letter</a>;
}

const REASONS: Readonly<Record<string, ComponentChildren>> = {
  not_unified: (
    <>
      Its schema has no dataset that is folded into profiles: make one under <a href="#/datasets">Datasets</a>. A
      backfill then adds the events that came before.
    </>
  ),
  no_identifier: "It names nobody.",
  erased: "The person was erased.",
  expired: "Its retention is over.",
};

export function Page({ params }: PageProps): JSX.Element {
  const id = params["id"]!;
  const event = useQuery<Event>(`/v1/events/${encodeURIComponent(id)}`, { read: withPayload });
  const profileId = event.data?.profile_id ?? null;
  return (
    <PageFrame
      title={event.data === null ? "Event" : `Event: ${visible(event.data.schema_id)}`}
      back={
        profileId === null
          ? ["#/search", "Search"]
          : [href("/profiles/:id", { id: profileId }, { tab: "timeline" }), "Events of the profile"]
      }
      intro={<Id id={id} what="the event id" isWhole />}
      actions={
        profileId !== null && (
          <LinkButton icon="person" href={href("/profiles/:id", { id: profileId })}>
            Its profile
          </LinkButton>
        )
      }
    >
      <Loaded
        {...event}
        lines={12}
        missing={
          <Missing what="event" icon="live" back={["#/live", "Open live events"]}>
            No event of this workspace has this id, its retention is over, or it is not processed yet. The id in an
            address must be whole.
          </Missing>
        }
      >
        {(one) => <Shown of={one} />}
      </Loaded>
    </PageFrame>
  );
}

const Shown = ({ of }: { readonly of: Event }): JSX.Element => (
  <>
    <Card title="What became of it">
      <Facts
        facts={[
          [
            "State",
            <span key="s" class="row">
              <StatusBadge of={of} />
              <span class="sentence">{stateOf(of).means}.</span>
              {of.reason !== null && stateOf(of).name === of.status && (
                <span class="break">{REASONS[of.reason] ?? visible(of.reason)}</span>
              )}
              <LetterLink of={of} />
            </span>,
          ],
          [
            "Schema",
            <a key="s" class="break" href={href("/schemas/:id", { id: of.schema_id })}>
              {visible(of.schema_id)}
            </a>,
          ],
          ["Version", of.schema_version],
          ["Happened", of.timestamp === null ? "not kept" : <ExactTime key="t" at={of.timestamp} />],
          ["Received", <ExactTime key="r" at={of.received_at} />],
          ["Profile", of.profile_id === null ? "none" : <ProfileLink key="p" id={of.profile_id} />],
          ...(of.profile_id_then !== null && of.profile_id_then !== of.profile_id
            ? [["Profile then", <ProfileLink key="p" id={of.profile_id_then} />] as const]
            : []),
        ]}
      />
    </Card>
    {of.violations.length > 0 && (
      <Message tone="warn">
        <strong>What the tracking plan says of it</strong>
        <ul>
          {of.violations.map(({ path, message }, i) => (
            <li key={i}>
              <code>{visible(path)}</code> {visible(message)}
            </li>
          ))}
        </ul>
      </Message>
    )}
    {of.dropped.length > 0 && (
      <Card title="Left out" note="Identifiers that it names and that did not link" isFlush>
        <Table
          label="Left out"
          rows={of.dropped}
          keyOf={({ identifier, rule }) => `${identifier.namespace} ${identifier.value} ${rule}`}
          columns={[
            { name: "Identifier", fit: "wide", show: ({ identifier }) => <Name of={identifier} isCopied /> },
            { name: "Why", show: ({ rule }) => RULES[rule] },
          ]}
        />
      </Card>
    )}
    <Card title="Payload" note="As it was sent">
      {of.status === "dropped" ? (
        <p class="soft">Nothing of it is left.</p>
      ) : (
        <Sent text={of.payload} label="the payload" />
      )}
    </Card>
  </>
);
