import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAction } from "../../api/hooks.js";
import { api } from "../../api/http.js";
import type { Identifier } from "../../api/types.js";
import { href } from "../../state/router.js";
import { Button, Card, ExactTime, Failure, Form, Id, Message, wrongOf } from "../../ui/kit.js";
import { IdentifierFields, needsOf, useNamespaces, wholeOf } from "../people/parts/choose.js";
import { Name } from "../people/parts/text.js";
import type { Checked } from "./records.js";

/** What can be told to a person who asks whether they are erased. */
export function Check(): JSX.Element {
  const { names } = useNamespaces();
  const [typed, setTyped] = useState<Identifier>({ namespace: "", value: "" });
  const [found, setFound] = useState<Checked | null>(null);
  const given = wholeOf(names, typed);
  const checking = useAction(async () => {
    const body = { identifiers: [given] };
    const { identifiers } = await api<{ readonly identifiers: readonly Checked[] }>(
      "POST",
      "/v1/erasures/check",
      body,
      { isRead: true },
    );
    setFound(identifiers[0] ?? null);
  });
  const change = (next: Identifier): void => {
    setTyped(next);
    setFound(null);
    checking.reset();
  };
  return (
    <Card title="Has somebody been erased?" note="The receipt is the proof for a person who asks.">
      <Form onSubmit={() => void checking.run()}>
        <IdentifierFields
          label="Identifier"
          names={names}
          value={given}
          wrong={wrongOf(checking.error, "identifiers.0.value")}
          onChange={change}
        />
        <div class="form-actions">
          <Button type="submit" isBusy={checking.isBusy} needs={needsOf(names, given)}>
            Check
          </Button>
        </div>
        <Failure error={checking.error} />
        {found !== null && <Answer of={found} />}
      </Form>
    </Card>
  );
}

function Answer({
  of: { identifier, erasure_id: id, erased_at: at, suppressed, in_profile: isKnown },
}: {
  readonly of: Checked;
}): JSX.Element {
  if (id === null || at === null)
    return (
      <Message tone={isKnown ? "warn" : "info"}>
        <strong>
          <Name of={identifier} /> was not erased
        </strong>
        {isKnown ? (
          <span>
            It is in a profile: <a href={href("/search", {}, { q: identifier.value })}>see whose</a>.
          </span>
        ) : (
          <span>It is in no profile either.</span>
        )}
      </Message>
    );
  return (
    <Message tone={isKnown ? "warn" : "good"}>
      <strong>
        <Name of={identifier} /> was erased
      </strong>
      <span class="row">
        <ExactTime at={at} /> by the erasure <Id id={id} href={href("/erasures/:id", { id })} what="the erasure id" />
      </span>
      <span>
        {isKnown
          ? "The person did something new since, which began a new profile."
          : suppressed
            ? "Nothing that comes later brings it back."
            : "It is in no profile. Something new would begin a new one."}
      </span>
    </Message>
  );
}
