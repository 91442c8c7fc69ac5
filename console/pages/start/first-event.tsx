import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useQuery } from "../../api/hooks.js";
import { listen } from "../../api/stream.js";
import { href } from "../../state/router.js";
import { LinkButton, Message, Time } from "../../ui/kit.js";

interface First {
  readonly eventId: string | null;
  readonly schemaId: string | null;
  readonly verdict: string;
  readonly why: string | null;
}

const isTaken = (verdict: string): boolean => verdict === "accepted" || verdict === "marked";

/** The newest event that came while this page is open, and the first that is taken for good: each further one would be asked for anew. */
export function useFirstEvent(): First | null {
  const [first, setFirst] = useState<First | null>(null);
  useEffect(
    () =>
      listen(
        "/v1/live?follow=true",
        ({ name, data }) => {
          if (name !== "event") return;
          const {
            event_id: eventId,
            schema_id: schemaId,
            verdict,
            errors,
          } = data as {
            event_id: string | null;
            schema_id: string | null;
            verdict: string;
            errors: readonly { path: string; message: string }[];
          };
          const [wrong] = errors;
          const next = {
            eventId,
            schemaId,
            verdict,
            why: wrong === undefined ? null : `${wrong.path} ${wrong.message}`.trim(),
          };
          setFirst((last) => (last !== null && isTaken(last.verdict) ? last : next));
        },
        () => {},
      ),
    [],
  );
  return first;
}

export interface PastEvent {
  readonly event_id: string;
  readonly schema_id: string;
  readonly received_at: string;
}

/** What came before this page was opened. */
export const Arrived = ({ event }: { readonly event: PastEvent }): JSX.Element => (
  <Message tone="good">
    <strong>Events have arrived already.</strong>
    <span>
      The newest event has the schema “{event.schema_id}” and came <Time at={event.received_at} />. The next one will
      show here within a second.
    </span>
    <span class="row">
      <LinkButton href={href("/events/:id", { id: event.event_id })}>See the event</LinkButton>
      <LinkButton href="#/live">Live events</LinkButton>
    </span>
  </Message>
);

interface Event {
  readonly status: string;
  readonly profile_id?: string | null;
}

export function FirstEvent({ first }: { readonly first: First | null }): JSX.Element {
  const event = useQuery<Event>(
    first?.eventId === null || first === null || first.verdict === "quarantined"
      ? null
      : `/v1/events/${first.eventId}?wait=5`,
  );
  if (first === null)
    return (
      <div class="row waiting">
        <span class="pulse" aria-hidden="true" />
        <span role="status">Waiting for the first event. Run the snippet: it shows here within a second.</span>
      </div>
    );
  if (first.verdict === "refused" || first.verdict === "quarantined")
    return (
      <Message tone="bad">
        <strong>An event came, and was {first.verdict}.</strong>
        <span>{first.why ?? "See Live events for the reasons."}</span>
        <span>
          <a href="#/live">Live events</a>
        </span>
      </Message>
    );
  const profileId = event.data?.profile_id ?? null;
  return (
    <Message tone="good">
      <strong>It has arrived{first.schemaId === null ? "" : `: an event of ${first.schemaId}`}.</strong>
      {profileId !== null && <span>It belongs to a profile now.</span>}
      <span class="row">
        {profileId !== null && <LinkButton href={href("/profiles/:id", { id: profileId })}>See the profile</LinkButton>}
        <LinkButton href="#/live">Live events</LinkButton>
      </span>
    </Message>
  );
}
