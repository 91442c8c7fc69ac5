import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useAnswer } from "../../api/answer.js";
import { usePages, type Pages } from "../../api/hooks.js";
import { api, queryOf } from "../../api/http.js";
import type { DeadLetter } from "../../api/records.js";
import { go, href } from "../../state/router.js";
import type { PageProps } from "../../state/pages.js";
import {
  Badge,
  BothTimes,
  Button,
  Card,
  count,
  Empty,
  Failure,
  Id,
  KeyName,
  PagedTable,
  PageFrame,
  SelectField,
  shorten,
  showNumber,
} from "../../ui/kit.js";
import { Letter, Reason, reasonWords, SchemaLink } from "./letters/letter.js";
import { Left, Replay, type Replayed, type Wanted } from "./letters/replay.js";
import { KeepRefused } from "./refused.js";

const GROUPED_MAX = 1_000;
const REPLAYED_MAX = 1_000;
const STATES = [
  ["open", "Waiting"],
  ["replayed", "Replayed"],
  ["all", "All"],
] as const;

interface Reasons {
  readonly of: readonly (readonly [string, number])[];
  readonly isAll: boolean;
}

async function readReasons(
  state: string | null,
  keyId: string,
  eventId: string,
  signal: AbortSignal,
): Promise<Reasons> {
  const counts = new Map<string, number>();
  let cursor: string | null = null;
  let seen = 0;
  do {
    const query = queryOf({ state, key_id: keyId, event_id: eventId, limit: 100, cursor });
    const page: { readonly dead_letters: readonly DeadLetter[]; readonly next_cursor: string | null } = await api(
      "GET",
      `/v1/dead-letters${query}`,
      undefined,
      { signal },
    );
    for (const { reason } of page.dead_letters) counts.set(reason, (counts.get(reason) ?? 0) + 1);
    seen += page.dead_letters.length;
    cursor = page.next_cursor;
  } while (cursor !== null && seen < GROUPED_MAX);
  return { of: [...counts].toSorted((a, b) => b[1] - a[1]), isAll: cursor === null };
}

/** Of the newest ones: how many there are for each reason; those of before stay until the next are here. */
function useReasons(state: string | null, keyId: string, eventId: string) {
  const { data, error, again } = useAnswer(JSON.stringify([state, keyId, eventId]), (signal) =>
    readReasons(state, keyId, eventId, signal),
  );
  const known = useRef<Reasons | null>(null);
  known.current = data ?? known.current;
  return { groups: known.current, error, again };
}

/** Of the pages so far, what is of this schema; the next page is read until there is some. One that filters may be empty. */
function useOfSchema(letters: Pages<DeadLetter>, schema: string): Pages<DeadLetter> {
  const items = letters.items?.filter(({ schema_id: id }) => schema === "" || id === schema) ?? null;
  const { more, isLoading, error } = letters;
  const isSought = items?.length === 0 && more !== null;
  useEffect(() => {
    if (isSought && !isLoading && error === null) more();
  }, [isSought, isLoading, error]);
  return { ...letters, items: isSought ? null : items };
}

export function Page({ query }: PageProps): JSX.Element {
  const state = query.get("state") ?? "open";
  const ofState = state === "all" ? null : state;
  const reason = query.get("reason") ?? "";
  const [keyId, schema] = [query.get("key_id") ?? "", query.get("schema") ?? ""];
  const eventId = query.get("event_id") ?? "";
  const { groups, error, again } = useReasons(ofState, keyId, eventId);
  const path = `/v1/dead-letters${queryOf({ state: ofState, reason, key_id: keyId, event_id: eventId })}`;
  const letters = useOfSchema(usePages<DeadLetter>(path, "dead_letters"), schema);
  const [opened, setOpened] = useState<string | null>(null);
  const [replaying, setReplaying] = useState<Wanted | null>(null);
  const [left, setLeft] = useState<Replayed | null>(null);
  const show = (change: Readonly<Record<string, string>>): void =>
    go(href("/dead-letters", {}, { state, reason, key_id: keyId, event_id: eventId, schema, ...change }), {
      replace: true,
    });
  const isSome = keyId !== "" || schema !== "" || eventId !== "";
  /** A replay knows nothing of keys, events and schemas. */
  const shown = (): Wanted =>
    isSome
      ? {
          dead_letter_ids: (letters.items ?? [])
            .filter(isWaiting)
            .slice(0, REPLAYED_MAX)
            .map(({ dead_letter_id: id }) => id),
        }
      : { ...(reason !== "" && { reason }) };
  return (
    <PageFrame
      title="Dead letters"
      intro="Events that could not be handled, were quarantined, or were refused and kept because the settings say so. Fix the cause, then replay them."
      actions={
        state !== "replayed" &&
        letters.items?.some(isWaiting) === true && (
          <Button kind="primary" icon="replay" onClick={() => setReplaying(shown())}>
            Replay {reason === "" && !isSome ? "all" : "these"}…
          </Button>
        )
      }
    >
      <div class="toolbar">
        <SelectField label="State" value={state} options={STATES} onChange={(next) => show({ state: next })} />
        <SelectField
          label="Reason"
          value={reason}
          options={[
            ["", "Any reason"],
            ...(groups?.of ?? []).map(
              ([name, times]) =>
                [name, `${reasonWords(name)} (${showNumber(times)}${groups?.isAll === true ? "" : "+"})`] as const,
            ),
          ]}
          onChange={(next) => show({ reason: next })}
        />
        {keyId !== "" && (
          <Button icon="close" onClick={() => show({ key_id: "" })}>
            Key <KeyName id={keyId} />
          </Button>
        )}
        {eventId !== "" && (
          <Button icon="close" onClick={() => show({ event_id: "" })}>
            Event {shorten(eventId)}
          </Button>
        )}
        {schema !== "" && (
          <Button icon="close" onClick={() => show({ schema: "" })}>
            Schema {shorten(schema)}
          </Button>
        )}
      </div>
      <Failure error={error} onRetry={again} />
      {groups !== null && groups.of.length > 1 && (
        <div class="figures">
          {groups.of.map(([name, times]) => (
            <button
              key={name}
              type="button"
              class="figure pick"
              aria-pressed={name === reason}
              onClick={() => show({ reason: name === reason ? "" : name })}
            >
              <span class="name break sentence">{reasonWords(name)}</span>
              <span class="value">
                {showNumber(times)}
                {groups.isAll ? "" : "+"}
              </span>
              <span class="note">
                {times === 1 ? "dead letter" : "dead letters"}.{" "}
                <span class="pick-does">{name === reason ? "Show all again" : "Show only these"}</span>
              </span>
            </button>
          ))}
        </div>
      )}
      {letters.items?.length === 0 && <KeepRefused />}
      <Card isFlush>
        <PagedTable
          label="Dead letters"
          pages={letters}
          keyOf={({ dead_letter_id: id }) => id}
          empty={
            <Empty icon="letter" title={state === "open" ? "No dead letters" : "There are none"}>
              Events that could not be handled, or were quarantined, appear here.
            </Empty>
          }
          columns={[
            {
              name: "Reason",
              fit: "wide",
              show: ({ reason: why, error: wrong }) => (
                <span class="row">
                  <Reason reason={why} />
                  {wrong !== null && (
                    <span class="break">
                      {wrong.path !== "" && <code>{wrong.path}</code>} {wrong.message}
                    </span>
                  )}
                </span>
              ),
            },
            {
              name: "Schema",
              show: (letter) => <SchemaLink of={letter} wrongs={letter.error === null ? [] : [letter.error]} />,
            },
            {
              name: "Event",
              show: ({ event_id: id }) =>
                id === null ? <span class="soft">none</span> : <Id id={id} what="the event id" />,
            },
            { name: "When", show: ({ at }) => <BothTimes at={at} /> },
            { name: "State", show: (letter) => <State of={letter} /> },
            {
              name: "Actions",
              isNameless: true,
              fit: "end",
              show: (letter) => (
                <span class="row">
                  <Button isSmall onClick={() => setOpened(letter.dead_letter_id)}>
                    Details
                  </Button>
                  {isWaiting(letter) && (
                    <Button isSmall onClick={() => setReplaying({ dead_letter_ids: [letter.dead_letter_id] })}>
                      Replay…
                    </Button>
                  )}
                </span>
              ),
            },
          ]}
        />
      </Card>
      {opened !== null && (
        <Letter
          id={opened}
          onClose={() => setOpened(null)}
          onReplay={() => {
            setOpened(null);
            setReplaying({ dead_letter_ids: [opened] });
          }}
        />
      )}
      {replaying !== null && (
        <Replay
          wanted={replaying}
          onClose={() => setReplaying(null)}
          onGone={() => {
            letters.reload();
            again();
          }}
          onDone={(done) => {
            if (done.skipped.length > 0 || done.replayed === 0) setLeft(done);
          }}
        />
      )}
      {left !== null && <Left of={left} onClose={() => setLeft(null)} />}
    </PageFrame>
  );
}

const isWaiting = ({ state }: DeadLetter): boolean => state === "open";

function State({ of: { state, outcome, times } }: { readonly of: DeadLetter }): JSX.Element {
  if (state === "replayed") return <Badge tone="good">replayed</Badge>;
  return (
    <span class="row">
      <Badge tone="warn">waiting</Badge>
      {outcome === "died_again" && <span class="soft small">failed {count(times, "time")}</span>}
    </span>
  );
}
