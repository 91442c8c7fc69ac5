import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
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
  const [checked, setChecked] = useState<Checked | null>(null);
  const [error, setError] = useState<unknown>(null);
  const problem = jsonProblem(text);
  useEffect(() => {
    setError(null);
    // It is about the text of before.
    setChecked(null);
    if (problem !== null) return undefined;
    const abort = new AbortController();
    const timer = setTimeout(() => {
      const head = JSON.stringify({ schema_id: schema.schema_id, timestamp: new Date().toISOString() });
      const body = `${head.slice(0, -1)},"payload":${text}}`;
      api<Checked>("POST", "/v1/collect?syncValidation=true", body, { signal: abort.signal }).then(
        setChecked,
        (failed: unknown) => {
          if (!abort.signal.aborted) setError(failed);
        },
      );
    }, CHECKED_MS);
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [text, problem, schema.schema_id]);
  return (
    <Card title={`Would version ${schema.version} take this event?`} note="Paste a payload. Nothing is stored.">
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
