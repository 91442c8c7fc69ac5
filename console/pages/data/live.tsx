import type { JSX } from "preact";
import { useEffect, useMemo, useReducer, useState } from "preact/hooks";
import { listen, type StreamEvent } from "../../api/stream.js";
import type { ErrorItem } from "../../api/types.js";
import { useMay } from "../../state/session.js";
import {
  Badge,
  Button,
  Card,
  Code,
  count,
  Empty,
  Facts,
  Id,
  LinkButton,
  Message,
  PageFrame,
  SelectField,
  TextField,
  Time,
  type Tone,
} from "../../ui/kit.js";
import "../../styles/live.css";

type Verdict = "accepted" | "marked" | "quarantined" | "refused";

interface Entry {
  /** Given here, in the order in which they came. */
  readonly n: number;
  readonly at: string;
  readonly verdict: Verdict;
  readonly event_id: string | null;
  readonly schema_id: string | null;
  readonly key_id: string;
  readonly code: string | null;
  readonly errors: readonly ErrorItem[];
  readonly payload: string;
  readonly payload_bytes: number;
}

const ENTRIES_MAX = 200;
const TONES: Readonly<Record<Verdict, Tone>> = {
  accepted: "good",
  marked: "warn",
  quarantined: "violet",
  refused: "bad",
};
const VERDICTS = [
  ["", "Everything"],
  ["accepted", "Accepted"],
  ["marked", "Marked by the plan"],
  ["quarantined", "Quarantined"],
  ["refused", "Refused"],
] as const;

interface State {
  /** Newest first. */
  readonly entries: readonly Entry[];
  readonly skipped: number;
  readonly made: number;
}
const NOTHING: State = { entries: [], skipped: 0, made: 0 };

type Change = StreamEvent | { readonly name: "clear" } | { readonly name: "connected" };

function take(state: State, change: Change): State {
  // A new connection begins with what was there before.
  if (change.name === "forget" || change.name === "clear" || change.name === "connected")
    return { ...NOTHING, made: state.made };
  if (!("data" in change)) return state;
  if (change.name === "skipped")
    return { ...state, skipped: state.skipped + (change.data as { events: number }).events };
  if (change.name !== "event") return state;
  const entry = { ...(change.data as Omit<Entry, "n">), n: state.made };
  return { ...state, entries: [entry, ...state.entries].slice(0, ENTRIES_MAX), made: state.made + 1 };
}

export function Page(): JSX.Element {
  const [state, tell] = useReducer(take, NOTHING);
  const [isOpen, setOpen] = useState(false);
  const [paused, setPaused] = useState<State | null>(null);
  const [verdict, setVerdict] = useState("");
  const [text, setText] = useState("");
  const [opened, setOpened] = useState<number | null>(null);
  const mayEdit = useMay("admin");
  useEffect(
    () =>
      listen("/v1/live?follow=true", tell, (is) => {
        setOpen(is);
        if (is) tell({ name: "connected" });
      }),
    [],
  );
  const shown = paused ?? state;
  const entries = useMemo(() => shown.entries.filter((entry) => isMatch(entry, verdict, text)), [shown, verdict, text]);
  const waiting = paused === null ? 0 : state.made - paused.made;
  return (
    <PageFrame
      title="Live events"
      intro="What comes in, as it comes in: accepted, marked by the tracking plan, quarantined, or refused with its reasons."
      actions={
        paused === null ? (
          <Button icon="pause" onClick={() => setPaused(state)}>
            Pause
          </Button>
        ) : (
          <Button icon="play" kind="primary" onClick={() => setPaused(null)}>
            Go on{waiting > 0 ? ` (${count(waiting, "new event")})` : ""}
          </Button>
        )
      }
    >
      <div class="toolbar">
        <SelectField label="Show" value={verdict} options={VERDICTS} onChange={setVerdict} />
        <TextField
          label="Filter"
          type="search"
          value={text}
          onInput={setText}
          placeholder="A schema, a key, a value, an error"
        />
        <span class={`live-state ${paused !== null ? "paused" : isOpen ? "open" : ""}`} role="status">
          {paused !== null ? "Paused" : isOpen ? "Watching" : "Connecting"}
        </span>
      </div>
      <Card isFlush>
        {entries.length === 0 ? (
          <NothingYet isFiltered={shown.entries.length > 0} mayEdit={mayEdit} />
        ) : (
          <ul class="live">
            {entries.map((entry) => (
              <Row
                key={entry.n}
                entry={entry}
                isOpened={opened === entry.n}
                onToggle={() => setOpened(opened === entry.n ? null : entry.n)}
              />
            ))}
          </ul>
        )}
      </Card>
      {shown.skipped > 0 && (
        <p class="soft small">
          {count(shown.skipped, "more event")} came in at the same moments and {shown.skipped === 1 ? "is" : "are"} not
          shown: of each kind 60 a second are.
        </p>
      )}
    </PageFrame>
  );
}

const NothingYet = ({
  isFiltered,
  mayEdit,
}: {
  readonly isFiltered: boolean;
  readonly mayEdit: boolean;
}): JSX.Element =>
  isFiltered ? (
    <Empty icon="search" title="None of these events matches">
      Choose “Everything” or take something out of the filter.
    </Empty>
  ) : (
    <Empty
      icon="live"
      title="Waiting for events"
      action={
        <>
          {mayEdit && (
            <LinkButton kind="primary" href="#/start">
              Set up a sender
            </LinkButton>
          )}
          <LinkButton href="#/stats">Statistics of the last hour</LinkButton>
        </>
      }
    >
      This page has what comes in while somebody watches, and keeps it for 5 minutes after. What was quarantined before
      is among the <a href="#/dead-letters">Dead letters</a>; so is what was refused, if “Keep refused events” was on in
      the <a href="#/settings">Settings</a>.
    </Empty>
  );

function isMatch(entry: Entry, verdict: string, text: string): boolean {
  if (verdict !== "" && entry.verdict !== verdict) return false;
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return true;
  const { schema_id: schemaId, key_id: keyId, event_id: eventId, code, payload, errors } = entry;
  const told = errors.map(({ path, message }) => `${path} ${message}`);
  return [schemaId, keyId, eventId, code, payload, ...told].some((one) => one?.toLowerCase().includes(wanted));
}

function Row({
  entry,
  isOpened,
  onToggle,
}: {
  readonly entry: Entry;
  readonly isOpened: boolean;
  readonly onToggle: () => void;
}): JSX.Element {
  const { verdict, schema_id: schemaId, code, errors, payload, at } = entry;
  const [first] = errors;
  const id = `live-${entry.n}`;
  return (
    <li>
      <button type="button" class="live-row" aria-expanded={isOpened} aria-controls={id} onClick={onToggle}>
        <Badge tone={TONES[verdict]}>{verdict}</Badge>
        <span class="live-schema">{schemaId ?? code ?? "unknown"}</span>
        <span class={`live-what${first === undefined ? "" : " wrong"}`}>
          {first === undefined ? payload : `${first.path === "" ? "" : `${first.path}: `}${first.message}`}
        </span>
        <span class="live-time soft small">
          <Time at={at} />
        </span>
      </button>
      {isOpened && (
        <div class="live-more" id={id}>
          {errors.length > 0 && (
            <Message tone={verdict === "marked" ? "warn" : "bad"}>
              <strong>{code === null ? "What is wrong with it" : `Refused: ${code}`}</strong>
              <ul>
                {errors.map(({ path, message }) => (
                  <li key={`${path} ${message}`}>
                    {path !== "" && <code>{path}</code>} {message}
                  </li>
                ))}
              </ul>
            </Message>
          )}
          <Facts
            facts={[
              [
                "Event",
                entry.event_id === null ? (
                  "none: it was refused"
                ) : (
                  <Id key="e" id={entry.event_id} href={`#/events/${entry.event_id}`} what="the event id" />
                ),
              ],
              [
                "Schema",
                schemaId === null ? (
                  "unknown"
                ) : (
                  <a key="s" href={`#/schemas/${encodeURIComponent(schemaId)}`}>
                    {schemaId}
                  </a>
                ),
              ],
              ["Key", <Id key="k" id={entry.key_id} what="the key id" />],
              ["Time", <Time key="t" at={at} isExact />],
            ]}
          />
          <Code text={pretty(payload)} wraps label="payload" />
          {payload.length < entry.payload_bytes && (
            <p class="soft small">The first 4 KiB of {count(entry.payload_bytes, "byte")}.</p>
          )}
        </div>
      )}
    </li>
  );
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
