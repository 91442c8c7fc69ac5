import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { useAction, useQuery } from "../../api/hooks.js";
import { api } from "../../api/http.js";
import type { NewKey, Schema } from "../../api/records.js";
import { listen } from "../../api/stream.js";
import { href } from "../../state/router.js";
import { useMay, useMe } from "../../state/session.js";
import {
  Bones,
  Button,
  Code,
  Failure,
  Icon,
  LinkButton,
  Message,
  PageFrame,
  SelectField,
  TextField,
  Time,
} from "../../ui/kit.js";
import "../../styles/start.css";
import { Apart, useApart } from "./apart.js";
import { SENDERS, snippetsOf, type SenderId } from "./snippets.js";

export function Page(): JSX.Element {
  const { workspace, url } = useMe();
  const [sender, setSender] = useState<SenderId>("browser");
  const [keys, setKeys] = useState<Partial<Record<SenderId, NewKey>>>({});
  const first = useFirstEvent();
  const past = useQuery<{ readonly events: readonly PastEvent[] }>("/v1/events?limit=1");
  const newest = past.data?.events[0] ?? null;
  const isSending = first !== null || newest !== null;
  const hasArrived = newest !== null || first?.verdict === "accepted" || first?.verdict === "marked";
  const apart = useApart();
  const chosen = SENDERS.find(({ id }) => id === sender)!;
  const key = keys[sender];
  return (
    <PageFrame title="Set up" intro={`From a key to the first profile of ${workspace.name}, in four steps.`}>
      <ol class="steps">
        <Step n={1} title="Who sends?" isDone={key !== undefined || isSending}>
          <div class="choices" role="group" aria-label="Sender">
            {SENDERS.map(({ id, name, note }) => (
              <button key={id} type="button" class="choice" aria-pressed={id === sender} onClick={() => setSender(id)}>
                <strong>{name}</strong>
                <span class="soft small">{note}</span>
              </button>
            ))}
          </div>
          <MakeKey
            key={sender}
            send={chosen.send}
            keyName={chosen.keyName}
            made={key ?? null}
            onMade={(made) => setKeys({ ...keys, [sender]: made })}
          />
        </Step>
        <Step n={2} title="Put it into the sender" isDone={isSending}>
          {sender === "api" && <SchemaHint />}
          <Snippets sender={sender} apiKey={key?.key ?? "YOUR_KEY"} url={url} />
        </Step>
        <Step n={3} title="See the first event" isDone={hasArrived}>
          {first === null && past.isLoading ? (
            <Bones lines={1} />
          ) : first === null && newest !== null ? (
            <Arrived event={newest} />
          ) : (
            <FirstEvent first={first} />
          )}
        </Step>
        <Step n={4} title="Keep different people apart" isDone={apart.isDone}>
          <p class="soft">
            Two settings. Both are off at first, because only you know which of your namespaces name exactly one person.
          </p>
          <Apart apart={apart} />
        </Step>
      </ol>
    </PageFrame>
  );
}

const Step = ({
  n,
  title,
  isDone,
  children,
}: {
  readonly n: number;
  readonly title: string;
  readonly isDone: boolean;
  readonly children: ComponentChildren;
}): JSX.Element => (
  <li class="step card">
    <div class={`step-number${isDone ? " done" : ""}`} aria-hidden="true">
      {isDone ? <Icon name="done" /> : n}
    </div>
    <div class="stack">
      <h2>
        {title}
        {isDone && <span class="hidden-text"> (done)</span>}
      </h2>
      {children}
    </div>
  </li>
);

function MakeKey({
  send,
  keyName,
  made,
  onMade,
}: {
  readonly send: "collect" | "all";
  readonly keyName: string;
  readonly made: NewKey | null;
  readonly onMade: (key: NewKey) => void;
}): JSX.Element {
  const mayMake = useMay("owner");
  const [name, setName] = useState<string>(keyName);
  const making = useAction(() =>
    api<NewKey>("POST", "/v1/keys", { role: "editor", send, name: name.trim() || keyName }),
  );
  if (made !== null)
    return (
      <div class="stack-small">
        <Message tone="warn">The key is shown once: copy it now, or take the snippet below, which holds it.</Message>
        <Code text={made.key} wraps label="the key" />
      </div>
    );
  if (!mayMake)
    return (
      <Message tone="info">
        A key of role owner makes the keys of senders. Ask whoever has one, and put the key into the snippet below.
      </Message>
    );
  const make = async (): Promise<void> => {
    const key = await making.run();
    if (key !== undefined) onMade(key);
  };
  return (
    <div class="stack-small">
      <form
        class="toolbar"
        onSubmit={(event) => {
          event.preventDefault();
          void make();
        }}
      >
        <TextField label="Name of the key" type="text" value={name} onInput={setName} />
        <Button kind="primary" type="submit" icon="key" isBusy={making.isBusy}>
          Make its key
        </Button>
      </form>
      <Failure error={making.error} />
    </div>
  );
}

function Snippets({
  sender,
  apiKey,
  url,
}: {
  readonly sender: SenderId;
  readonly apiKey: string;
  readonly url: string;
}): JSX.Element {
  const now = useMemo(() => `${new Date().toISOString().slice(0, 19)}Z`, []);
  const snippets = snippetsOf(sender, apiKey, url, now);
  const [id, setId] = useState("");
  const chosen = snippets.find((one) => one.id === id) ?? snippets[0]!;
  return (
    <div class="stack-small">
      <div class="toolbar">
        <SelectField
          label="How it sends"
          value={chosen.id}
          options={snippets.map(({ id: value, name }) => [value, name] as const)}
          onChange={setId}
        />
      </div>
      <Code text={chosen.text} wraps label={`the snippet for ${chosen.name}`} />
    </div>
  );
}

/** The API takes events of schemas that are registered. */
function SchemaHint(): JSX.Element | null {
  const schemas = useQuery<{ readonly schemas: readonly Schema[] }>("/v1/schemas?limit=1");
  const mayEdit = useMay("admin");
  if (schemas.data === null || schemas.data.schemas.length > 0) return null;
  return (
    <Message tone="info">
      <span>
        The API takes events whose schema is registered: “signup” in this snippet.{" "}
        {mayEdit ? <a href="#/new-schema">Register a schema</a> : "Ask an admin to register one."}
      </span>
    </Message>
  );
}

interface First {
  readonly eventId: string | null;
  readonly schemaId: string | null;
  readonly verdict: string;
  readonly why: string | null;
}

/** The newest event that came while this page is open, until one is accepted. */
function useFirstEvent(): First | null {
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
          setFirst((last) => (last?.verdict === "accepted" && verdict !== "accepted" ? last : next));
        },
        () => {},
      ),
    [],
  );
  return first;
}

interface PastEvent {
  readonly event_id: string;
  readonly schema_id: string;
  readonly received_at: string;
}

/** What came before this page was opened. */
const Arrived = ({ event }: { readonly event: PastEvent }): JSX.Element => (
  <Message tone="good">
    <strong>Events have arrived already.</strong>
    <span>
      The newest is of {event.schema_id}, <Time at={event.received_at} />. The next one shows here within a second.
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

function FirstEvent({ first }: { readonly first: First | null }): JSX.Element {
  const event = useQuery<Event>(
    first?.eventId === null || first === null || first.verdict === "quarantined"
      ? null
      : `/v1/events/${first.eventId}?wait=5`,
  );
  if (first === null)
    return (
      <div class="row">
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
