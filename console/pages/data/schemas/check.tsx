import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAnswer } from "../../../api/answer.js";
import { useQuery } from "../../../api/hooks.js";
import { api } from "../../../api/http.js";
import { rawMembers, withPayload } from "../../../api/raw.js";
import type { Schema } from "../../../api/records.js";
import type { ErrorItem } from "../../../api/types.js";
import { AreaField, Card, Empty, Errors, Failure, Loaded, Message } from "../../../ui/kit.js";
import { sampleOf } from "./annotations.js";
import { jsonProblem } from "./editor.js";

interface Checked {
  readonly status: "pass" | "fail";
  readonly errors: readonly ErrorItem[];
}

const CHECKED_MS = 600;

interface CheckProps {
  readonly schema: Schema;
  /** The dead letter whose payload is checked first; null: a sample is. */
  readonly letter: string | null;
}

export const CheckEvent = ({ schema, letter }: CheckProps): JSX.Element =>
  letter === null ? (
    <Check schema={schema} first={JSON.stringify(sampleOf(schema.schema), null, 2)} />
  ) : (
    <CheckLetter schema={schema} letter={letter} />
  );

/** A request that was refused is kept as it came, with the payload in it. */
function payloadIn(text: string): string {
  const members = text.startsWith("{") ? rawMembers(text) : null;
  return (members?.has("schema_id") ? members.get("payload") : undefined) ?? text;
}

function CheckLetter({ schema, letter }: { readonly schema: Schema; readonly letter: string }): JSX.Element {
  const read = useQuery<{ readonly payload: string }>(`/v1/dead-letters/${encodeURIComponent(letter)}`, {
    read: withPayload,
  });
  const gone = <Empty icon="letter" title="This dead letter is gone" />;
  return (
    <Loaded {...read} lines={14} missing={gone}>
      {({ payload }) => <Check schema={schema} first={payloadIn(payload)} />}
    </Loaded>
  );
}

/** Holds an event against the latest version while it is written. Nothing is stored. */
function Check({ schema, first }: { readonly schema: Schema; readonly first: string }): JSX.Element {
  const [text, setText] = useState(first);
  const problem = jsonProblem(text);
  const { data: checked, error } = useAnswer(
    problem === null ? `${schema.schema_id} ${text}` : null,
    (signal) => {
      const head = JSON.stringify({ schema_id: schema.schema_id, timestamp: new Date().toISOString() });
      const body = `${head.slice(0, -1)},"payload":${text}}`;
      return api<Checked>("POST", "/v1/collect?syncValidation=true", body, { signal, isRead: true });
    },
    CHECKED_MS,
  );
  return (
    <Card
      title={`Would version ${schema.version} take this event?`}
      note="Paste a payload: it is checked as you type. Nothing is stored."
    >
      <div class="columns">
        <AreaField label="Payload" isCode rows={14} value={text} onInput={setText} wrong={problem} />
        <div class="stack-small" aria-live="polite">
          <Failure error={error} />
          {checked?.status === "pass" && (
            <Message tone="good">
              <strong>Yes: it matches.</strong>
            </Message>
          )}
          {checked?.status === "fail" && (
            <Message tone="bad">
              <strong>No: it would be refused.</strong>
              <Errors of={checked.errors} />
            </Message>
          )}
        </div>
      </div>
    </Card>
  );
}
