import type { JSX } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import { Button, Card, CheckField, Failure, Form, SelectField, TextField } from "../../../ui/kit.js";
import { IdentifierFields, isGiven, needsOf, useNamespaces, wholeOf } from "../parts/choose.js";
import type { Identifier } from "../parts/records.js";
import { isToForbid } from "./blank.js";
import type { UndoRequest } from "./request.js";

const KINDS = [
  ["pair", "The links between two identifiers"],
  ["identifier", "All links of one identifier"],
  ["change", "A whole change"],
] as const;

export interface AskProps {
  /** What stands in the form at first. */
  readonly query: URLSearchParams;
  /** Whether the form says something that no preview shows. */
  readonly isNew: boolean;
  /** The form says something else now; null: not all of it is there. */
  readonly onChange: (request: UndoRequest | null) => void;
  readonly onSubmit: (request: UndoRequest) => void;
}

/** What is to be undone. */
export function Ask({ query, isNew, onChange, onSubmit }: AskProps): JSX.Element {
  const { names, error } = useNamespaces();
  const text = (name: string): string => query.get(name) ?? "";
  const [kind, setKind] = useState<string>(query.get("what") ?? "pair");
  const [change, setChange] = useState(text("change"));
  const [from, setFrom] = useState<Identifier>({ namespace: text("namespace"), value: text("value") });
  const [to, setTo] = useState<Identifier>({ namespace: text("to_namespace"), value: text("to_value") });
  const [isForbidden, setForbidden] = useState(text("forbid") === "true");
  const whole = (one: Identifier): Identifier => wholeOf(names, one);
  const request = ((): UndoRequest | null => {
    if (kind === "change") return change.trim() === "" ? null : { kind, id: change.trim() };
    if (kind === "identifier") return isGiven(whole(from)) ? { kind, identifier: whole(from) } : null;
    return isGiven(whole(from)) && isGiven(whole(to))
      ? { kind: "pair", from: whole(from), to: whole(to), isForbidden }
      : null;
  })();
  const needs = (): string | null =>
    kind === "change"
      ? "Enter the id of a change"
      : kind === "identifier"
        ? needsOf(names, whole(from))
        : needsOf(names, whole(from), whole(to));
  // Its text stands for the request, which is made anew with each drawing. Before the next key can be pressed.
  useLayoutEffect(() => onChange(request), [JSON.stringify(request)]);
  return (
    <Card>
      <Form onSubmit={() => void (request !== null && onSubmit(request))}>
        {!isToForbid(query) && <SelectField label="What to undo" value={kind} options={KINDS} onChange={setKind} />}
        {kind === "change" ? (
          <TextField
            label="Change id"
            value={change}
            onInput={setChange}
            hint={
              <>
                The <a href="#/changes">list of changes</a> has it.
              </>
            }
          />
        ) : kind === "identifier" ? (
          <IdentifierFields label="Identifier" names={names} value={whole(from)} onChange={setFrom} />
        ) : (
          <>
            <div class="columns">
              <IdentifierFields label="One" names={names} value={whole(from)} onChange={setFrom} />
              <IdentifierFields label="The other" names={names} value={whole(to)} onChange={setTo} />
            </div>
            <CheckField
              label="Forbid the pair"
              hint="From then on nothing may bring the two into one profile, until the pair is allowed again."
              checked={isForbidden}
              onChange={setForbidden}
            />
          </>
        )}
        <Failure error={error} />
        <div class="form-actions">
          <Button kind={isNew ? "primary" : "plain"} type="submit" needs={request === null ? needs() : null}>
            Preview
          </Button>
        </div>
      </Form>
    </Card>
  );
}
