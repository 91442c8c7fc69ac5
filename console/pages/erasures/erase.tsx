import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { useAction } from "../../api/hooks.js";
import { api, tagged } from "../../api/http.js";
import type { Identifier } from "../../api/types.js";
import { href } from "../../state/router.js";
import { useUnsaved, whenFree } from "../../state/unsaved.js";
import { Button, count, Dialog, Failure, Facts, Form, Id, Message, notify, wrongOf } from "../../ui/kit.js";
import { IdentifierFields, needsOf, useNamespaces, wholeOf } from "../people/parts/choose.js";
import type { Plan } from "./records.js";
import { Counts, KeepOut } from "./shown.js";

interface Seen {
  readonly plan: Plan;
  /** What would go must still be that when it goes. */
  readonly tag: string | null;
}

/** Erases by an identifier: first it is looked at what would go, and then only that goes. */
export function Erase({ onClose, onDone }: { readonly onClose: () => void; readonly onDone: () => void }): JSX.Element {
  const { names } = useNamespaces();
  const [typed, setTyped] = useState<Identifier>({ namespace: "", value: "" });
  const [suppress, setSuppress] = useState(false);
  const [seen, setSeen] = useState<Seen | null>(null);
  const given = wholeOf(names, typed);
  const body = { identifiers: [given], suppress };
  useUnsaved(given.value !== "" || suppress);
  const close = (): void => whenFree(onClose);
  const asked = useRef(typed);
  asked.current = typed;
  const looking = useAction(async () => {
    const { answer: plan, tag } = await tagged<Plan>("POST", "/v1/erasures?dry_run=true", body);
    // Another person may stand in the fields by now, who would be erased.
    if (asked.current === typed) setSeen({ plan, tag });
  });
  const erasing = useAction(async () => {
    const tag = seen?.tag ?? null;
    await api("POST", "/v1/erasures", body, { headers: { ...(tag !== null && { "If-Match": tag }) } });
    notify("The person is erased. The receipt says when that is completed.");
    onDone();
  });
  const change = (next: Identifier): void => {
    setTyped(next);
    setSeen(null);
    looking.reset();
    erasing.reset();
  };
  return (
    <Dialog title="Erase a person" onClose={close} isBusy={erasing.isBusy}>
      <Form onSubmit={() => void looking.run()}>
        <IdentifierFields
          label="An identifier of the person"
          names={names}
          value={given}
          wrong={wrongOf(looking.error, "identifiers.0.value")}
          onChange={change}
        />
        <KeepOut checked={suppress} onChange={setSuppress} />
        <Failure error={looking.error ?? erasing.error} />
        {seen !== null && <Planned plan={seen.plan} />}
        <div class="form-actions">
          {seen === null ? (
            <Button kind="primary" type="submit" isBusy={looking.isBusy} needs={needsOf(names, given)}>
              See what would go
            </Button>
          ) : (
            <Button kind="danger" isBusy={erasing.isBusy} onClick={() => void erasing.run()}>
              Erase forever
            </Button>
          )}
          <Button disabled={erasing.isBusy} onClick={close}>
            Cancel
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}

const Planned = ({
  plan: { profile_id: id, identifiers, events, partial, erased_by: before },
}: {
  readonly plan: Plan;
}): JSX.Element => (
  <div class="stack">
    <Facts
      facts={[
        [
          "Profile",
          id === null ? (
            "none: what names it and is older stays out"
          ) : (
            <Id key="p" id={id} href={href("/profiles/:id", { id })} what="the profile id" />
          ),
        ],
        ["Identifiers", <Counts key="i" of={identifiers} />],
        ["Events", `${count(events, "event")}${partial === true ? " and more" : ""}`],
      ]}
    />
    {before === undefined ? (
      <Message tone="warn">
        It cannot be undone, and two people who were merged wrongly would both go. Look whether the numbers can be
        right.
      </Message>
    ) : (
      <Message tone="info">This person was erased before: it answers the same receipt.</Message>
    )}
  </div>
);
