import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAnswer } from "../../api/answer.js";
import { useAction } from "../../api/hooks.js";
import { api, ApiError, tagged } from "../../api/http.js";
import type { Identifier } from "../../api/types.js";
import { href, useGo } from "../../state/router.js";
import { useUnsaved, whenFree } from "../../state/unsaved.js";
import {
  Button,
  CheckField,
  count,
  Dialog,
  Facts,
  Failure,
  Form,
  Id,
  Loaded,
  Message,
  notify,
  wrongOf,
} from "../../ui/kit.js";
import { IdentifierFields, needsOf, useNamespaces, wholeOf } from "../people/parts/choose.js";
import type { Plan } from "./records.js";
import { Counts } from "./shown.js";

/** Who: as the service is asked. */
type Target = { readonly profile_id: string } | { readonly identifiers: readonly Identifier[] };

const PATH = "/v1/erasures";
const SURE = "I know that nobody can undo this";

/** Erases the person of a profile, or of an identifier that is typed here: shows what would go, and erases only that. */
export function Erase({
  profileId,
  onClose,
}: {
  readonly profileId?: string;
  readonly onClose: () => void;
}): JSX.Element {
  const [target, setTarget] = useState<Target | null>(profileId === undefined ? null : { profile_id: profileId });
  const [isKeptOut, setKeptOut] = useState(false);
  const [isSure, setSure] = useState(false);
  const {
    data: seen,
    error,
    again,
  } = useAnswer(target === null ? null : JSON.stringify(target), async (signal) => {
    const { answer: plan, tag } = await tagged<Plan>("POST", `${PATH}?dry_run=true`, target, { signal, isRead: true });
    return { plan, tag };
  });
  const erasing = useAction(async () => {
    // What would go must still be that when it goes.
    const headers = { ...((seen?.tag ?? null) !== null && { "If-Match": seen!.tag! }) };
    return api<{ readonly erasure_id: string }>("POST", PATH, { ...target, suppress: isKeptOut }, { headers });
  });
  const go = useGo();
  const erase = async (): Promise<void> => {
    const done = await erasing.run();
    if (done === undefined) return;
    notify("The person is erased. This is the receipt.");
    go(href("/erasures/:id", { id: done.erasure_id }));
  };
  const look = (next: Target | null): void => {
    erasing.reset();
    setSure(false);
    setTarget(next);
    again();
  };
  const close = (): void => whenFree(onClose);
  const isOther = erasing.error instanceof ApiError && erasing.error.problem.status === 412;
  return (
    <Dialog
      title="Erase a person"
      onClose={close}
      isBusy={erasing.isBusy}
      foot={
        <>
          <Button disabled={erasing.isBusy} onClick={close}>
            Cancel
          </Button>
          <Button
            kind="danger"
            icon="erase"
            disabled={seen === null}
            needs={seen !== null && !isSure ? `Tick “${SURE}” first` : null}
            isBusy={erasing.isBusy}
            onClick={() => void erase()}
          >
            Erase forever
          </Button>
        </>
      }
    >
      {profileId === undefined && (
        <Whom
          wrong={wrongOf(error, "identifiers.0.value")}
          isBusy={target !== null && seen === null && error === null}
          onAsk={(one) => look({ identifiers: [one] })}
          onChange={() => look(null)}
        />
      )}
      {target !== null && (
        <Loaded data={seen} error={error} reload={again} lines={5}>
          {({ plan }) => <Planned plan={plan} />}
        </Loaded>
      )}
      {seen !== null && (
        <>
          <CheckField
            label="Keep the person out"
            hint="New events do not bring the person back, until you readmit them. Otherwise a new event begins a new profile."
            checked={isKeptOut}
            onChange={setKeptOut}
          />
          <CheckField label={SURE} checked={isSure} onChange={setSure} />
        </>
      )}
      {isOther ? (
        <Message tone="warn">
          <span>The person changed since this was shown here. Look at what would go now.</span>
          <div>
            <Button isSmall onClick={() => look(target)}>
              Look again
            </Button>
          </div>
        </Message>
      ) : (
        <Failure error={erasing.error} />
      )}
    </Dialog>
  );
}

/** An identifier of the person, which is looked up when that is asked for. */
function Whom({
  wrong,
  isBusy,
  onAsk,
  onChange,
}: {
  readonly wrong: string | null;
  readonly isBusy: boolean;
  readonly onAsk: (identifier: Identifier) => void;
  /** Another person may stand in the fields by now. */
  readonly onChange: () => void;
}): JSX.Element {
  const { names } = useNamespaces();
  const [typed, setTyped] = useState<Identifier>({ namespace: "", value: "" });
  const given = wholeOf(names, typed);
  const needs = needsOf(names, given);
  useUnsaved(given.value !== "");
  return (
    <Form onSubmit={() => needs === null && onAsk(given)}>
      <IdentifierFields
        label="An identifier of the person"
        names={names}
        value={given}
        wrong={wrong}
        onChange={(next) => {
          setTyped(next);
          onChange();
        }}
      />
      <div class="form-actions">
        <Button type="submit" isBusy={isBusy} needs={needs}>
          See what would go
        </Button>
      </div>
    </Form>
  );
}

const Planned = ({
  plan: { profile_id: id, identifiers, events, partial, erased_by: before },
}: {
  readonly plan: Plan;
}): JSX.Element => (
  <div class="stack-small">
    <p>This will be deleted:</p>
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
        ["Events folded", `${count(events, "event")}${partial === true ? " or more" : ""}`],
      ]}
    />
    <p class="soft small">
      Their traits, links and memberships are deleted too. Records of changes keep no value of theirs.
    </p>
    {before === undefined ? (
      <Message tone="warn">
        Two people who were merged wrongly would both go. Check that these numbers fit one person.
      </Message>
    ) : (
      <Message tone="info">This person was erased before: it answers the same receipt.</Message>
    )}
  </div>
);
