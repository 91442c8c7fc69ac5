import type { JSX } from "preact";
import { useEffect, useMemo, useReducer, useState } from "preact/hooks";
import { useQuery } from "../../api/hooks.js";
import { useKeyNames } from "../../api/key-names.js";
import { listen, type StreamEvent } from "../../api/stream.js";
import type { PageProps } from "../../state/pages.js";
import { go, href } from "../../state/router.js";
import { useMay } from "../../state/session.js";
import { Button, Card, count, Empty, Failure, LinkButton, PageFrame, SelectField, TextField } from "../../ui/kit.js";
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
  /** Those from this number on are not shown until somebody resumes; null: all are. */
  readonly pausedAt: number | null;
  /** Of the connections before: what comes again keeps its number. */
  readonly before: readonly Entry[];
}
const NOTHING: State = { entries: [], skipped: 0, made: 0, pausedAt: null, before: [] };

type Change = StreamEvent | { readonly name: "connected" | "pause" | "resume" };

const isSame = (one: Entry, other: Omit<Entry, "n">): boolean =>
  one.at === other.at && one.event_id === other.event_id && one.payload === other.payload;

function take(state: State, change: Change): State {
  const { entries, made, pausedAt, before } = state;
  if (change.name === "pause") return { ...state, pausedAt: made };
  if (change.name === "resume") return { ...state, pausedAt: null, entries: entries.slice(0, ENTRIES_MAX) };
  // A new connection begins with what was there before, without who was erased meanwhile: that is not told to who was away.
  if (change.name === "connected")
    return { ...NOTHING, made, pausedAt, before: [...entries, ...before].slice(0, 2 * ENTRIES_MAX) };
  if (change.name === "forget") return { ...NOTHING, made, pausedAt };
  if (!("data" in change)) return state;
  if (change.name === "skipped")
    return { ...state, skipped: state.skipped + (change.data as { events: number }).events };
  if (change.name !== "event") return state;
  const data = change.data as Omit<Entry, "n">;
  const known = before.find((one) => isSame(one, data));
  const entry = known ?? { ...data, n: made };
  return {
    ...state,
    // What is paused stays, however much comes in.
    entries: [entry, ...entries].filter(({ n }, index) => index < ENTRIES_MAX || n < (pausedAt ?? 0)),
    made: known === undefined ? made + 1 : made,
    before: before.filter((one) => one !== known),
  };
}

export function Page({ query }: PageProps): JSX.Element {
  const [state, tell] = useReducer(take, NOTHING);
  const [isOpen, setOpen] = useState(false);
  const [refusal, setRefusal] = useState<unknown>(null);
  // In the address, so that other pages can link to some of them.
  const [verdict, text] = [query.get("show") ?? "", query.get("filter") ?? ""];
  const show = (change: { readonly show?: string; readonly filter?: string }): void =>
    go(href("/live", {}, { show: verdict, filter: text, ...change }), { replace: true });
  const [opened, setOpened] = useState<number | null>(null);
  const mayEdit = useMay("admin");
  // An open stream does not notice that the session ended in another tab. Asking does, and the page goes.
  useQuery("/v1/me", { every: ASKED_MS, isAskedHidden: true });
  useEffect(
    () =>
      listen("/v1/live?follow=true", tell, (is, why) => {
        setOpen(is);
        setRefusal(why);
        if (is) tell({ name: "connected" });
      }),
    [],
  );
  const { pausedAt, skipped } = state;
  const isPaused = pausedAt !== null;
  const waiting = state.made - (pausedAt ?? state.made);
  const shown = useMemo(
    () => (pausedAt === null ? state.entries : state.entries.filter(({ n }) => n < pausedAt)),
    [state.entries, pausedAt],
  );
  const names = useKeyNames(useMemo(() => [...new Set(shown.map(({ key_id: id }) => id))], [shown]));
  const entries = useMemo(
    () => shown.filter((entry) => isMatch(entry, verdict, text, names.get(entry.key_id))),
    [shown, verdict, text, names],
  );
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
        isPaused ? (
          <Button icon="play" kind="primary" onClick={() => tell({ name: "resume" })}>
            Resume{waiting > 0 ? ` (${count(waiting, "new event")})` : ""}
          </Button>
        ) : (
          <Button icon="pause" onClick={() => tell({ name: "pause" })}>
            Pause
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
        <span class={`live-state ${isPaused ? "paused" : isOpen ? "open" : ""}`} role="status">
          {isPaused ? "Paused" : isOpen ? "Watching" : refusal === null ? "Connecting" : "Trying again"}
        </span>
      </div>
      <Failure error={refusal} />
      {entries.length === 0 && <KeepRefused isLive />}
      {(entries.length > 0 || refusal === null) && (
        <Card isFlush>
          {entries.length === 0 ? (
            <NothingYet isFiltered={shown.length > 0} isRefused={verdict === "refused"} mayEdit={mayEdit} />
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
      )}
      {skipped > 0 && (
        <p class="soft small">
          {count(skipped, "more event")} came in at the same moments and {skipped === 1 ? "is" : "are"} not shown: of
          each kind 60 a second are.
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
          <LinkButton href="#/stats">Statistics of the last hour</LinkButton>
          {mayEdit && <LinkButton href="#/start">Set up a sender</LinkButton>}
        </>
      }
    >
      This page shows what comes in while somebody watches it, and keeps it for 5 minutes. Events that were quarantined
      are among the {mayEdit ? <a href="#/dead-letters">Dead letters</a> : "dead letters"}.
    </Empty>
  );
