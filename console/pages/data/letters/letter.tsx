import type { JSX } from "preact";
import { useQuery } from "../../../api/hooks.js";
import { withPayload } from "../../../api/raw.js";
import type { DeadLetter, WholeLetter } from "../../../api/records.js";
import type { ErrorItem } from "../../../api/types.js";
import { href } from "../../../state/router.js";
import {
  Badge,
  Button,
  Dialog,
  Empty,
  Errors,
  ExactTime,
  Facts,
  Id,
  KeyId,
  LinkButton,
  Loaded,
  Message,
  Name,
  Sent,
} from "../../../ui/kit.js";
import { NO_SCHEMA } from "../refused.js";

/** The console has one word for what the service did not take. */
export const reasonWords = (reason: string): string => (reason === "rejected" ? "refused" : reason);

export const Reason = ({ reason }: { readonly reason: string }): JSX.Element => (
  <Badge tone={reason === "quarantined" ? "violet" : "bad"}>{reasonWords(reason)}</Badge>
);

/** What an event is kept under that named none: of the API, and of an SDK. */
const UNNAMED: ReadonlySet<string> = new Set(["unknown", "sdk.unknown"]);

/** Of an event whose schema the workspace did not have: its page would say that there is none. */
const isUnregistered = ({ path, message }: ErrorItem): boolean =>
  path === "schema_id" && message === "is not a schema of this workspace";

/** `wrongs` is what is known of its errors. */
export function SchemaLink({
  of: { schema_id: id, reason },
  wrongs,
}: {
  readonly of: Pick<DeadLetter, "schema_id" | "reason">;
  readonly wrongs: readonly ErrorItem[];
}): JSX.Element {
  if (id === null || (UNNAMED.has(id) && (reason === "rejected" || reason === "quarantined")))
    return <span class="soft">{NO_SCHEMA}</span>;
  if (!wrongs.some(isUnregistered))
    return (
      <a href={href("/schemas/:id", { id })}>
        <Name of={id} />
      </a>
    );
  return (
    <span class="stack-tight">
      <span class="break">
        <Name of={id} />
      </span>
      <span class="soft small">was not registered</span>
    </span>
  );
}

/** Where the cause is mended; null: nobody knows. */
function Cause({
  of: { dead_letter_id: letter, reason, schema_id: id, errors },
}: {
  readonly of: WholeLetter;
}): JSX.Element | null {
  const isPlan = reason === "quarantined";
  const isSchema = id !== null && !UNNAMED.has(id) && !errors.some(isUnregistered) && errors.length > 0;
  if (!isPlan && !isSchema) return null;
  return (
    <div class="row">
      {isPlan && (
        <LinkButton isSmall href="#/settings">
          Settings of the tracking plan
        </LinkButton>
      )}
      {isSchema && (
        <LinkButton isSmall href={href("/schemas/:id", { id }, { tab: "check", letter })}>
          Check against the schema
        </LinkButton>
      )}
    </div>
  );
}

/** All that is known of one, over the list. */
export function Letter({
  id,
  onClose,
  onReplay,
}: {
  readonly id: string;
  readonly onClose: () => void;
  readonly onReplay: () => void;
}): JSX.Element {
  const letter = useQuery<WholeLetter>(`/v1/dead-letters/${id}`, { read: withPayload });
  return (
    <Dialog
      title="Dead letter"
      isLarge
      onClose={onClose}
      foot={
        <>
          <Button onClick={onClose}>Close</Button>
          {letter.data?.state === "open" && (
            <Button kind="primary" icon="replay" onClick={onReplay}>
              Replay…
            </Button>
          )}
        </>
      }
    >
      <Loaded
        {...letter}
        lines={10}
        missing={
          <Empty icon="letter" title="This dead letter is gone">
            Its retention is over, the person that it names was erased, or an admin deleted it.
          </Empty>
        }
      >
        {(whole) => (
          <div class="stack">
            {whole.errors.length > 0 ? (
              <Message tone="bad">
                <strong>What is wrong with it</strong>
                <Errors of={whole.errors} />
                <Cause of={whole} />
              </Message>
            ) : (
              <Cause of={whole} />
            )}
            <Facts
              facts={[
                ["Reason", reasonWords(whole.reason)],
                ["Schema", <SchemaLink key="s" of={whole} wrongs={whole.errors} />],
                ["Event", whole.event_id === null ? "none" : <Id key="e" id={whole.event_id} what="the event id" />],
                ["Key", whole.key_id === null ? "unknown" : <KeyId key="k" id={whole.key_id} />],
                ["Received", whole.received_at === null ? "unknown" : <ExactTime key="t" at={whole.received_at} />],
                ["When", <ExactTime key="b" at={whole.at} />],
                ["Letter", <Id key="i" id={whole.dead_letter_id} what="the id of the dead letter" isWhole />],
              ]}
            />
            <Sent text={whole.payload} label="the payload" />
          </div>
        )}
      </Loaded>
    </Dialog>
  );
}
