import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAnswer } from "../../../api/answer.js";
import { api, AwayError, queryOf, type Asking } from "../../../api/http.js";
import type { ErrorItem } from "../../../api/types.js";
import { Button, Confirm, count, Dialog, Loaded, Message, notify, showNumber } from "../../../ui/kit.js";

interface Skipped {
  readonly dead_letter_id: string;
  readonly why: string;
  readonly errors: readonly ErrorItem[];
}
interface Page {
  readonly replayed: number;
  readonly skipped: readonly Skipped[];
  readonly next_cursor: string | null;
}
export type Replayed = Omit<Page, "next_cursor">;

/** Which: these, or all of a reason. */
export interface Wanted {
  readonly dead_letter_ids?: readonly string[];
  readonly reason?: string;
}

/** Page by page, since one call looks at 1,000 letters. `told` hears how many went so far. */
async function replay(
  wanted: Wanted,
  isDry: boolean,
  { told, ...asking }: Asking & { readonly told?: (replayed: number) => void } = {},
): Promise<Replayed> {
  const skipped: Skipped[] = [];
  let replayed = 0;
  let cursor: string | null = null;
  do {
    const body = { ...wanted, ...(cursor !== null && { cursor }) };
    const page: Page = await api("POST", `/v1/dead-letters/replay${queryOf({ dry_run: isDry })}`, body, asking);
    replayed += page.replayed;
    told?.(replayed);
    skipped.push(...page.skipped);
    cursor = page.next_cursor;
  } while (cursor !== null);
  return { replayed, skipped };
}

/** Asks first, after a look at what would go. `onDone` hears what went and what did not; `onGone`, also before a failure, that some went. */
export function Replay({
  wanted,
  onClose,
  onGone,
  onDone,
}: {
  readonly wanted: Wanted;
  readonly onClose: () => void;
  readonly onGone: () => void;
  readonly onDone: (replayed: Replayed) => void;
}): JSX.Element {
  const { data: dry, error, again } = useAnswer("dry", (signal) => replay(wanted, true, { signal }));
  const [gone, setGone] = useState(0);
  /** An answer was lost: what it queued is counted nowhere. */
  const [isLost, setLost] = useState(false);
  const act = async (): Promise<void> => {
    let went = 0;
    try {
      const done = await replay(wanted, false, { told: (replayed) => (went = replayed) });
      if (done.skipped.length === 0) notify(`${count(done.replayed, "letter")} queued again.`);
      onDone(done);
    } catch (failed) {
      // Asked anew: what went is not among those that would go.
      setGone(gone + went);
      setLost(isLost || failed instanceof AwayError);
      again();
      throw failed;
    } finally {
      onGone();
    }
  };
  const before = sayGone(gone, isLost);
  if (dry?.replayed === 0) {
    const title = before === null ? "Nothing can be queued again" : "Nothing more can be queued again";
    return <Left of={dry} title={title} before={before} onClose={onClose} />;
  }
  return (
    <Confirm
      title="Replay dead letters?"
      verb={dry === null ? "Replay" : `Replay ${count(dry.replayed, "letter")}`}
      isReady={dry !== null}
      onClose={onClose}
      act={act}
    >
      {before !== null && <Message tone="warn">{before} These are left.</Message>}
      <Loaded data={dry} error={error} reload={again} lines={2}>
        {({ replayed, skipped }) => (
          <p>
            <strong>{count(replayed, "letter")}</strong> {replayed === 1 ? "goes" : "go"} back into the queue.{" "}
            {skipped.length > 0 && `${count(skipped.length, "letter")} cannot go and will stay here. `}
            An event that was stored before is not stored twice.
          </p>
        )}
      </Loaded>
    </Confirm>
  );
}

/** What went before a failure; null: nothing, as far as anybody can know. */
function sayGone(gone: number, isLost: boolean): string | null {
  if (gone === 0) return isLost ? "An answer was lost: what it queued again is not counted." : null;
  const told = `${count(gone, "letter")} queued again before it failed`;
  return isLost ? `${told}, and perhaps more: an answer was lost.` : `${told}.`;
}

const WHY: Readonly<Record<string, string>> = {
  refused: "refused again by the current schemas and settings",
  idempotency_mismatch: "another event with the same idempotency key is stored",
  erased: "the event was erased",
  expired: "the event is older than the retention of its dataset",
  unreadable: "the message has a version that this service does not know",
  damaged: "the stored event is damaged",
  not_found: "not among the dead letters any more",
};
const ERRORS_MAX = 5;

/** What was not queued, and why. */
export function Left({
  of: { replayed, skipped },
  title,
  before = null,
  onClose,
}: {
  readonly of: Replayed;
  readonly title?: string;
  /** What went already. */
  readonly before?: string | null;
  readonly onClose: () => void;
}): JSX.Element {
  const counts = new Map<string, number>();
  for (const { why } of skipped) counts.set(why, (counts.get(why) ?? 0) + 1);
  const errors = new Map<string, ErrorItem>();
  for (const one of skipped.flatMap((letter) => letter.errors)) errors.set(`${one.path} ${one.message}`, one);
  const told =
    replayed === 0
      ? "Nothing was queued again"
      : `${showNumber(replayed)} of ${count(replayed + skipped.length, "letter")} queued again`;
  return (
    <Dialog
      title={title ?? told}
      onClose={onClose}
      foot={
        <Button kind="primary" onClick={onClose}>
          Close
        </Button>
      }
    >
      <Message tone="warn">
        {before !== null && <span>{before}</span>}
        {counts.size === 0 ? (
          <span>{before === null ? "There are no such letters any more." : "No such letters are left."}</span>
        ) : (
          [...counts].map(([why, times]) => (
            <span key={why}>
              <strong>{count(times, "letter")}:</strong> {title !== undefined && why === "refused" ? "would be " : ""}
              {WHY[why] ?? why}.
            </span>
          ))
        )}
        {errors.size > 0 && (
          <ul>
            {[...errors].slice(0, ERRORS_MAX).map(([key, { path, message }]) => (
              <li key={key}>
                {path !== "" && <code>{path}</code>} {message}
              </li>
            ))}
          </ul>
        )}
        {errors.size > ERRORS_MAX && <span>{showNumber(errors.size - ERRORS_MAX)} more errors.</span>}
      </Message>
      {errors.size > 0 && <p>Fix the schema, the tracking plan or the settings, then replay.</p>}
    </Dialog>
  );
}
