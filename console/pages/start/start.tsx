import type { ComponentChildren, JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { useAction, useQuery } from "../../api/hooks.js";
import { api } from "../../api/http.js";
import type { NewKey, Schema } from "../../api/records.js";
import { useMay, useMe } from "../../state/session.js";
import { useSecret } from "../../state/unsaved.js";
import { Bones, Code, Icon, Message, PageFrame, SelectField } from "../../ui/kit.js";
import { API_EVENTS, SDK_EVENTS } from "../data/sdk-events.js";
import "../../styles/start.css";
import { Apart, useApart } from "./apart.js";
import { Arrived, FirstEvent, useFirstEvent, type PastEvent } from "./first-event.js";
import { MakeKey } from "./make-key.js";
import { SENDERS, snippetsOf, type SenderId } from "./snippets.js";

const YOUR_KEY = "YOUR_KEY";

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
  // Here, and not with the sender: who goes to another one and back would make the key twice.
  const making = useAction((body: object) => api<NewKey>("POST", "/v1/keys", body));
  const choose = (id: SenderId): void => {
    making.reset();
    setSender(id);
  };
  useSecret(Object.keys(keys).length > 0);
  return (
    <PageFrame
      title="Set up"
      intro={`From a key to the first event of ${workspace.name}, and how to keep people apart: in four steps.`}
    >
      <ol class="steps">
        <Step n={1} title="Who sends?" isDone={key !== undefined || isSending}>
          <div class="choices" role="group" aria-label="Sender">
            {SENDERS.map(({ id, name, note }) => (
              <button key={id} type="button" class="choice" aria-pressed={id === sender} onClick={() => choose(id)}>
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
            making={making}
            onMade={(made) => setKeys((last) => ({ ...last, [sender]: made }))}
          />
        </Step>
        <Step n={2} title="Put it into the sender" isDone={isSending}>
          <p class="soft">{sender === "api" ? API_EVENTS : SDK_EVENTS}</p>
          {sender === "api" && <SchemaHint />}
          <Snippets sender={sender} apiKey={key?.key ?? YOUR_KEY} url={url} />
          {key === undefined && <p class="soft small">Put the secret of the key in the place of {YOUR_KEY}.</p>}
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
      <Code text={chosen.text} label={`the snippet for ${chosen.name}`} />
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
