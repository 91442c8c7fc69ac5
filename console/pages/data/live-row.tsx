import type { JSX } from "preact";
import type { ErrorItem } from "../../api/types.js";
import {
  Ago,
  Badge,
  count,
  Errors,
  ExactTime,
  Facts,
  Id,
  KeyId,
  Message,
  Sent,
  type Tone,
  visible,
} from "../../ui/kit.js";
import { NO_SCHEMA, Unstored } from "./refused.js";

export type Verdict = "accepted" | "marked" | "quarantined" | "refused";

export interface Entry {
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

const TONES: Readonly<Record<Verdict, Tone>> = {
  accepted: "good",
  marked: "warn",
  quarantined: "violet",
  refused: "bad",
};

export function isMatch(entry: Entry, verdict: string, text: string, keyName = ""): boolean {
  if (verdict !== "" && entry.verdict !== verdict) return false;
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return true;
  const { schema_id: schemaId, key_id: keyId, event_id: eventId, code, payload, errors } = entry;
  const told = errors.map(({ path, message }) => `${path} ${message}`);
  return [schemaId, keyId, keyName, eventId, code, payload, ...told].some((one) => one?.toLowerCase().includes(wanted));
}

/** An event in one line, and opened with all that is known of it. */
export function Row({
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
  const isCut = isOpened && new TextEncoder().encode(payload).length < entry.payload_bytes;
  return (
    <li>
      <button type="button" class="live-row" aria-expanded={isOpened} aria-controls={id} onClick={onToggle}>
        <Badge tone={TONES[verdict]}>{verdict}</Badge>
        <span class="live-schema">{schemaId ?? <span class="soft">{NO_SCHEMA}</span>}</span>
        <span class={`live-what${first === undefined ? "" : " wrong"}`}>
          {first === undefined ? visible(payload) : `${first.path === "" ? "" : `${first.path}: `}${first.message}`}
        </span>
        <span class="live-time soft small">
          <Ago at={at} />
        </span>
      </button>
      {isOpened && (
        <div class="live-more" id={id}>
          {errors.length > 0 && (
            <Message tone={verdict === "marked" ? "warn" : "bad"}>
              <strong>{code === null ? "What is wrong with it" : `Refused: ${code.replaceAll("_", " ")}`}</strong>
              <Errors of={errors} />
            </Message>
          )}
          <Facts
            facts={[
              [
                "Event",
                entry.event_id === null ? (
                  <Unstored key="u" code={code} keyId={entry.key_id} />
                ) : (
                  <Id key="e" id={entry.event_id} href={`#/events/${entry.event_id}`} what="the event id" />
                ),
              ],
              [
                "Schema",
                schemaId === null ? (
                  NO_SCHEMA
                ) : code === "unknown_schema" ? (
                  `${schemaId}, which is not registered`
                ) : (
                  <a key="s" href={`#/schemas/${encodeURIComponent(schemaId)}`}>
                    {schemaId}
                  </a>
                ),
              ],
              ["Key", <KeyId key="k" id={entry.key_id} />],
              ["Time", <ExactTime key="t" at={at} />],
            ]}
          />
          {/* What is cut is no JSON: one long line. */}
          <Sent text={payload} wraps={isCut} label="payload" />
          {isCut && <p class="soft small">The first 4 KiB of {count(entry.payload_bytes, "byte")}.</p>}
        </div>
      )}
    </li>
  );
}
