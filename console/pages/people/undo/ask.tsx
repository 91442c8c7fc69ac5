import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { go } from "../../../state/router.js";
import { Button, Card, CheckField, Failure, Form, SelectField, TextField } from "../../../ui/kit.js";
import { IdentifierFields, isGiven, useNamespaces } from "../parts/choose.js";
import type { Identifier } from "../parts/records.js";
import { hrefOfUndo, type UndoRequest } from "./request.js";

const KINDS = [
  ["pair", "Two identifiers from each other"],
  ["identifier", "One identifier from all others"],
  ["change", "A whole change"],
] as const;

/** What is to be undone, into the address. */
export function Ask({ query }: { readonly query: URLSearchParams }): JSX.Element {
  const { names, error } = useNamespaces();
  const text = (name: string): string => query.get(name) ?? "";
  const [kind, setKind] = useState<string>(query.get("what") ?? "pair");
  const [change, setChange] = useState(text("change"));
  const [from, setFrom] = useState<Identifier>({ namespace: text("namespace"), value: text("value") });
  const [to, setTo] = useState<Identifier>({ namespace: text("to_namespace"), value: text("to_value") });
  const [isForbidden, setForbidden] = useState(text("forbid") === "true");
  const whole = (one: Identifier): Identifier => ({
    ...one,
    namespace: one.namespace === "" ? (names?.[0] ?? "") : one.namespace,
  });
  const request = ((): UndoRequest | null => {
    if (kind === "change") return change.trim() === "" ? null : { kind, id: change.trim() };
    if (kind === "identifier") return isGiven(whole(from)) ? { kind, identifier: whole(from) } : null;
    return isGiven(whole(from)) && isGiven(whole(to))
      ? { kind: "pair", from: whole(from), to: whole(to), isForbidden }
      : null;
  })();
  return (
    <Card>
      <Form onSubmit={() => void (request !== null && go(hrefOfUndo(request)))}>
        <SelectField label="What to take back" value={kind} options={KINDS} onChange={setKind} />
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
          <Button kind={query.get("what") === null ? "primary" : "plain"} type="submit" disabled={request === null}>
            Preview
          </Button>
        </div>
      </Form>
    </Card>
  );
}
