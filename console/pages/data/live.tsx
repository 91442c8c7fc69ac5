import type { JSX } from "preact";
import { useEffect, useMemo, useReducer, useState } from "preact/hooks";
import { useQuery } from "../../api/hooks.js";
import { listen, type StreamEvent } from "../../api/stream.js";
import type { PageProps } from "../../state/pages.js";
import { go, href } from "../../state/router.js";
import { useMay } from "../../state/session.js";
import { Button, Card, count, Empty, LinkButton, PageFrame, SelectField, TextField } from "../../ui/kit.js";
import "../../styles/live.css";
import { isMatch, Row, type Entry } from "./live-row.js";
import { KeepRefused } from "./refused.js";

const ENTRIES_MAX = 200;
const ASKED_MS = 5_000;
const VERDICTS = [
  ["", "Everything"],
  ["accepted", "Accepted"],
  ["marked", "Marked"],
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

export function Page({ query }: PageProps): JSX.Element {
  const [state, tell] = useReducer(take, NOTHING);
  const [isOpen, setOpen] = useState(false);
  const [paused, setPaused] = useState<State | null>(null);
  // In the address, so that other pages can link to some of them.
  const [verdict, text] = [query.get("show") ?? "", query.get("filter") ?? ""];
  const show = (change: { readonly show?: string; readonly filter?: string }): void =>
    go(href("/live", {}, { show: verdict, filter: text, ...change }), { replace: true });
  const [opened, setOpened] = useState<number | null>(null);
  const mayEdit = useMay("admin");
  // An open stream does not notice that the session ended in another tab. Asking does, and the page goes.
  useQuery("/v1/me", { every: ASKED_MS, isAskedHidden: true });
  const told = (change: Change): void => {
    tell(change);
    // What is paused is shown, too, and who was away is not told of an erasure.
    if (change.name === "forget" || change.name === "connected")
      setPaused((last) => last && { ...NOTHING, made: last.made });
  };
  useEffect(
    () =>
      listen("/v1/live?follow=true", told, (is) => {
        setOpen(is);
        if (is) told({ name: "connected" });
      }),
    [],
  );
  const shown = paused ?? state;
  const entries = useMemo(() => shown.entries.filter((entry) => isMatch(entry, verdict, text)), [shown, verdict, text]);
  const waiting = paused === null ? 0 : state.made - paused.made;
  return (
    <PageFrame
      title="Live events"
      intro={
        <>
          What comes in, as it comes in: accepted, marked by the <a href="#/settings">tracking plan</a>, quarantined, or
          refused, with the reasons.
        </>
      }
      actions={
        paused === null ? (
          <Button icon="pause" onClick={() => setPaused(state)}>
            Pause
          </Button>
        ) : (
          <Button icon="play" kind="primary" onClick={() => setPaused(null)}>
            Resume{waiting > 0 ? ` (${count(waiting, "new event")})` : ""}
          </Button>
        )
      }
    >
      <div class="toolbar live-toolbar">
        <SelectField label="Show" value={verdict} options={VERDICTS} onChange={(next) => show({ show: next })} />
        <TextField
          label="Filter"
          type="search"
          value={text}
          onInput={(next) => show({ filter: next })}
          placeholder="Schema, key, value or error"
        />
        <span class={`live-state ${paused !== null ? "paused" : isOpen ? "open" : ""}`} role="status">
          {paused !== null ? "Paused" : isOpen ? "Watching" : "Connecting"}
        </span>
      </div>
      {entries.length === 0 && <KeepRefused isLive />}
      <Card isFlush>
        {entries.length === 0 ? (
          <NothingYet isFiltered={shown.entries.length > 0} isRefused={verdict === "refused"} mayEdit={mayEdit} />
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
  isRefused,
  mayEdit,
}: {
  readonly isFiltered: boolean;
  readonly isRefused: boolean;
  readonly mayEdit: boolean;
}): JSX.Element =>
  isFiltered ? (
    <Empty icon="search" title="None of these events matches">
      Choose “Everything” or take something out of the filter.
    </Empty>
  ) : isRefused ? (
    <Empty
      icon="live"
      title="Waiting for refused events"
      action={<LinkButton href="#/stats">Statistics of the last hour</LinkButton>}
    >
      This page shows what came in while somebody watched it, for 5 minutes. Send the event again: it shows here, with
      what is wrong with it.
    </Empty>
  ) : (
    <Empty
      icon="live"
      title="Waiting for new events"
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
      This page shows what comes in while somebody watches it, and keeps it for 5 minutes. Events that were quarantined,
      or kept though they were refused, are among the{" "}
      {mayEdit ? <a href="#/dead-letters">Dead letters</a> : "dead letters"}.
    </Empty>
  );
