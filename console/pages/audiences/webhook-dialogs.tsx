import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAction } from "../../api/hooks.js";
import { api } from "../../api/http.js";
import type { EntryType, NewWebhook, Webhook } from "../../api/audiences.js";
import { useUnsaved, whenFree } from "../../state/unsaved.js";
import {
  Button,
  CheckField,
  Dialog,
  Failure,
  Form,
  notify,
  SelectField,
  showNumber,
  TextField,
  wrongOf,
} from "../../ui/kit.js";

const TYPES: readonly (readonly [EntryType, string])[] = [
  ["entered", "somebody entered an audience"],
  ["left", "somebody left an audience"],
  ["audience_deleted", "an audience was deleted"],
  ["profile_erased", "a person was erased"],
];

const toggled = <One,>(all: readonly One[], one: One, isIn: boolean): readonly One[] =>
  isIn ? [...all, one] : all.filter((other) => other !== one);

export function NewWebhookDialog({
  names,
  onClose,
  onMade,
}: {
  readonly names: ReadonlyMap<string, string>;
  readonly onClose: () => void;
  readonly onMade: (webhook: NewWebhook) => void;
}): JSX.Element {
  const [url, setUrl] = useState("");
  const [ids, setIds] = useState<readonly string[]>([]);
  const [types, setTypes] = useState<readonly EntryType[]>(TYPES.map(([type]) => type));
  const [from, setFrom] = useState("now");
  const making = useAction(() =>
    api<NewWebhook>("POST", "/v1/webhooks", {
      url: url.trim(),
      ...(ids.length > 0 && { audience_ids: ids }),
      ...(types.length < TYPES.length && { types }),
      ...(from === "first" && { after: 0 }),
    }),
  );
  useUnsaved(url !== "" || ids.length > 0 || types.length < TYPES.length || from !== "now");
  const close = (): void => whenFree(onClose);
  const submit = async (): Promise<void> => {
    const made = await making.run();
    if (made !== undefined) onMade(made);
  };
  return (
    <Dialog title="New webhook" onClose={close} isBusy={making.isBusy}>
      <Form onSubmit={() => void submit()}>
        <TextField
          label="Address"
          type="url"
          value={url}
          onInput={setUrl}
          placeholder="https://hooks.example.com/onym"
          hint="A public https address, unless the service allows others (WEBHOOK_PRIVATE)."
          wrong={wrongOf(making.error, "url")}
        />
        {names.size > 0 && (
          <fieldset class="checks">
            <legend>Audiences</legend>
            <span class="hint soft small">If you tick none: all audiences, also future ones.</span>
            <div class="checks-list">
              {[...names].map(([id, name]) => (
                <CheckField
                  key={id}
                  label={
                    <bdi class="name-lines" title={name}>
                      {name}
                    </bdi>
                  }
                  checked={ids.includes(id)}
                  onChange={(isIn) => setIds(toggled(ids, id, isIn))}
                />
              ))}
            </div>
          </fieldset>
        )}
        <fieldset class="checks">
          <legend>What it tells</legend>
          {TYPES.map(([type, name]) => (
            <CheckField
              key={type}
              label={name}
              checked={types.includes(type)}
              onChange={(isIn) => setTypes(toggled(types, type, isIn))}
            />
          ))}
        </fieldset>
        <SelectField
          label="Begins"
          value={from}
          options={[
            ["now", "with what comes from now on"],
            ["first", "with the first entry of the feed"],
          ]}
          onChange={setFrom}
        />
        <Failure error={making.error} />
        <div class="form-actions">
          <Button disabled={making.isBusy} onClick={close}>
            Cancel
          </Button>
          <Button
            kind="primary"
            type="submit"
            isBusy={making.isBusy}
            needs={url.trim() === "" ? "Enter an address" : types.length === 0 ? "Choose what it tells" : null}
          >
            Create
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}

/** What `resume` does to a webhook in each state. */
export const RESUMES: Readonly<Record<Webhook["state"], string>> = {
  active: "Send again",
  failing: "Retry now",
  stopped: "Resume",
};

/** At once, where it stands or from an earlier number. */
export function Resume({
  of: { webhook_id: id, delivered, state },
  onClose,
  onDone,
}: {
  readonly of: Webhook;
  readonly onClose: () => void;
  readonly onDone: () => void;
}): JSX.Element {
  const [after, setAfter] = useState(String(delivered));
  const going = useAction(async () => {
    await api("POST", `/v1/webhooks/${id}/resume`, Number(after) === delivered ? {} : { after: Number(after) });
    return true;
  });
  const submit = async (): Promise<void> => {
    if ((await going.run()) !== true) return;
    notify("The webhook goes on.");
    onDone();
    onClose();
  };
  return (
    <Dialog title={`${RESUMES[state]}: from which entry?`} onClose={onClose} isBusy={going.isBusy}>
      <Form onSubmit={() => void submit()}>
        <TextField
          label="After entry"
          type="number"
          min={0}
          value={after}
          onInput={setAfter}
          hint={`It stands at ${showNumber(delivered)}. A lower number sends the entries after it again. The next try is made at once.`}
          wrong={wrongOf(going.error, "after")}
        />
        <Failure error={going.error} />
        <div class="form-actions">
          <Button disabled={going.isBusy} onClick={onClose}>
            Cancel
          </Button>
          <Button
            kind="primary"
            type="submit"
            isBusy={going.isBusy}
            needs={/^\d+$/.test(after) ? null : "Enter a number"}
          >
            {RESUMES[state]}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
