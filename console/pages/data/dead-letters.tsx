import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { usePages } from "../../api/hooks.js";
import { api, queryOf } from "../../api/http.js";
import type { DeadLetter } from "../../api/records.js";
import { go, href } from "../../state/router.js";
import type { PageProps } from "../../state/pages.js";
import {
  Badge,
  Button,
  Card,
  Confirm,
  count,
  Empty,
  Failure,
  Id,
  Loaded,
  notify,
  PagedTable,
  PageFrame,
  SelectField,
  showNumber,
  Time,
} from "../../ui/kit.js";
import { Letter } from "./dead-letter.js";

interface Replayed {
  readonly replayed: number;
  readonly skipped: readonly { readonly dead_letter_id: string; readonly why: string }[];
  readonly next_cursor: string | null;
}

const GROUPED_MAX = 1_000;
const STATES = [
  ["open", "Open"],
  ["replayed", "Replayed"],
  ["all", "All"],
] as const;

/** Of the newest ones: how many there are for each reason. */
function useReasons(state: string | null, stamp: number) {
  const [groups, setGroups] = useState<{
    readonly of: readonly (readonly [string, number])[];
    readonly isAll: boolean;
  } | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    const abort = new AbortController();
    const read = async (): Promise<void> => {
      const counts = new Map<string, number>();
      let cursor: string | null = null;
      let seen = 0;
      do {
        const query = queryOf({ state, limit: 100, cursor });
        const page: { readonly dead_letters: readonly DeadLetter[]; readonly next_cursor: string | null } = await api(
          "GET",
          `/v1/dead-letters${query}`,
          undefined,
          { signal: abort.signal },
        );
        for (const { reason } of page.dead_letters) counts.set(reason, (counts.get(reason) ?? 0) + 1);
        seen += page.dead_letters.length;
        cursor = page.next_cursor;
      } while (cursor !== null && seen < GROUPED_MAX);
      setGroups({ of: [...counts].toSorted((a, b) => b[1] - a[1]), isAll: cursor === null });
    };
    setError(null);
    read().catch((failed: unknown) => {
      if (!abort.signal.aborted) setError(failed);
    });
    return () => abort.abort();
  }, [state, stamp]);
  return { groups, error };
}

export function Page({ query }: PageProps): JSX.Element {
  const state = query.get("state") ?? "open";
  const ofState = state === "all" ? null : state;
  const reason = query.get("reason") ?? "";
  const [stamp, setStamp] = useState(0);
  const { groups, error } = useReasons(ofState, stamp);
  const letters = usePages<DeadLetter>(`/v1/dead-letters${queryOf({ state: ofState, reason })}`, "dead_letters");
  const [opened, setOpened] = useState<string | null>(null);
  const [replaying, setReplaying] = useState<{ readonly ids: readonly string[] | null } | null>(null);
  const show = (change: { readonly state?: string; readonly reason?: string }): void =>
    go(href("/dead-letters", {}, { state: change.state ?? state, reason: change.reason ?? reason }), { replace: true });
  return (
    <PageFrame
      title="Dead letters"
      intro="Events that could not be handled, were quarantined, or were refused and kept. Mend the cause, and replay them."
      actions={
        state !== "replayed" &&
        (letters.items?.length ?? 0) > 0 && (
          <Button kind="primary" icon="undo" onClick={() => setReplaying({ ids: null })}>
            Replay {reason === "" ? "all open" : "these"}
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
              ([name, times]) => [name, `${name} (${showNumber(times)}${groups?.isAll === true ? "" : "+"})`] as const,
            ),
          ]}
          onChange={(next) => show({ reason: next })}
        />
      </div>
      <Failure error={error} />
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
              <span class="name break">{name}</span>
              <span class="value">
                {showNumber(times)}
                {groups.isAll ? "" : "+"}
              </span>
            </button>
          ))}
        </div>
      )}
      <Card isFlush>
        <PagedTable
          label="Dead letters"
          pages={letters}
          keyOf={({ dead_letter_id: id }) => id}
          empty={
            <Empty icon="letter" title={state === "open" ? "Nothing waits to be mended" : "There are none"}>
              What is refused is kept here too once “Keep refused events among the dead letters” is on in the{" "}
              <a href="#/settings">settings</a>.
            </Empty>
          }
          columns={[
            {
              name: "Reason",
              fit: "wide",
              show: ({ reason: why }) => <Badge tone={why === "quarantined" ? "violet" : "bad"}>{why}</Badge>,
            },
            {
              name: "Event",
              show: ({ event_id: id }) =>
                id === null ? <span class="soft">none</span> : <Id id={id} what="the event id" />,
            },
            { name: "When", show: ({ at }) => <Time at={at} /> },
            { name: "State", show: (letter) => <State of={letter} /> },
            {
              name: "Actions",
              isNameless: true,
              fit: "end",
              show: ({ dead_letter_id: id, state: is }) => (
                <span class="row">
                  <Button isSmall onClick={() => setOpened(id)}>
                    Open
                  </Button>
                  {is === "open" && (
                    <Button isSmall onClick={() => setReplaying({ ids: [id] })}>
                      Replay
                    </Button>
                  )}
                </span>
              ),
            },
          ]}
        />
      </Card>
      {opened !== null && <Letter id={opened} onClose={() => setOpened(null)} />}
      {replaying !== null && (
        <Replay
          body={{
            ...(replaying.ids !== null && { dead_letter_ids: replaying.ids }),
            ...(replaying.ids === null && reason !== "" && { reason }),
          }}
          onClose={() => setReplaying(null)}
          onDone={() => {
            letters.reload();
            setStamp(stamp + 1);
          }}
        />
      )}
    </PageFrame>
  );
}

function State({ of: { state, outcome, times } }: { readonly of: DeadLetter }): JSX.Element {
  if (state === "replayed") return <Badge tone="good">replayed</Badge>;
  return (
    <span class="row">
      <Badge tone="warn">open</Badge>
      {outcome === "died_again" && <span class="soft small">died again, {count(times, "time")}</span>}
    </span>
  );
}

/** A replay, page by page, since one call looks at 1,000 letters. */
async function replay(body: object, isDry: boolean): Promise<{ readonly replayed: number; readonly skipped: number }> {
  const sum = { replayed: 0, skipped: 0 };
  let cursor: string | null = null;
  do {
    const page: Replayed = await api("POST", `/v1/dead-letters/replay${queryOf({ dry_run: isDry })}`, {
      ...body,
      ...(cursor !== null && { cursor }),
    });
    sum.replayed += page.replayed;
    sum.skipped += page.skipped.length;
    cursor = page.next_cursor;
  } while (cursor !== null);
  return sum;
}

function Replay({
  body,
  onClose,
  onDone,
}: {
  readonly body: object;
  readonly onClose: () => void;
  readonly onDone: () => void;
}): JSX.Element {
  const [dry, setDry] = useState<{ readonly replayed: number; readonly skipped: number } | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => void replay(body, true).then(setDry, setError), []);
  return (
    <Confirm
      title="Replay dead letters?"
      verb={dry === null ? "Replay" : `Replay ${count(dry.replayed, "letter")}`}
      onClose={onClose}
      act={async () => {
        const { replayed, skipped } = await replay(body, false);
        notify(
          `${count(replayed, "letter")} queued again${skipped === 0 ? "." : `, ${showNumber(skipped)} left as they are.`}`,
        );
        onDone();
      }}
    >
      <Loaded data={dry} error={error} lines={2}>
        {({ replayed, skipped }) => (
          <p>
            <strong>{count(replayed, "letter")}</strong> {replayed === 1 ? "goes" : "go"} back into the queue, and what
            was quarantined or refused is judged by the schemas of now.{" "}
            {skipped > 0 &&
              `${count(skipped, "letter")} would be refused again and ${skipped === 1 ? "stays" : "stay"}. `}
            An event that was stored before is not stored twice.
          </p>
        )}
      </Loaded>
    </Confirm>
  );
}
