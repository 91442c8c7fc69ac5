import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAnswer } from "../../../api/answer.js";
import { api } from "../../../api/http.js";
import type { Schema } from "../../../api/records.js";
import type { ErrorItem } from "../../../api/types.js";
import { Errors, AreaField, Card, Failure, Message } from "../../../ui/kit.js";
import { sampleOf } from "./annotations.js";
import { jsonProblem } from "./editor.js";

interface Checked {
  readonly status: "pass" | "fail";
  readonly errors: readonly ErrorItem[];
}

const CHECKED_MS = 600;

/** Holds an event against the latest version while it is written. Nothing is stored. */
export function CheckEvent({ schema }: { readonly schema: Schema }): JSX.Element {
  const [text, setText] = useState(JSON.stringify(sampleOf(schema.schema), null, 2));
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
