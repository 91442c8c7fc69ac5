import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAction, useWhole } from "../../api/hooks.js";
import { api } from "../../api/http.js";
import type { Key, NewKey } from "../../api/records.js";
import type { Role } from "../../api/types.js";
import { useMe } from "../../state/session.js";
import { useDraft, useSecret, whenFree } from "../../state/unsaved.js";
import {
  Address,
  AreaField,
  Badge,
  BothTimes,
  Button,
  Card,
  Code,
  Confirm,
  Dialog,
  Empty,
  Failure,
  Form,
  Id,
  Message,
  notify,
  PagedTable,
  PageFrame,
  SelectField,
  showNumber,
  TextField,
  visible,
  wrongOf,
} from "../../ui/kit.js";

const ROLES = [
  ["viewer", "viewer: reads"],
  ["editor", "editor: sends, identifies, builds audiences"],
  ["admin", "admin: schemas, settings, undo, erase"],
  ["owner", "owner: all of it, and keys"],
] as const;
const SENDS = [
  ["", "all that its role allows"],
  ["collect", "only send events and SDK calls: for a web page, an app or an SDK"],
  ["all", "only send events, identify and alias: for a back end without an SDK"],
] as const;

export function Page(): JSX.Element {
  const keys = useWhole<Key>("/v1/keys?limit=100", "keys");
  // The service gives them by their ids, which are random.
  const items = keys.data?.toSorted((a, b) => Date.parse(b.created_at) - Date.parse(a.created_at)) ?? null;
  const [isMaking, setMaking] = useState(false);
  const [made, setMade] = useState<NewKey | null>(null);
  const [revoked, setRevoked] = useState<Key | null>(null);
  const [rotated, setRotated] = useState<Key | null>(null);
  const me = useMe().key.key_id;
  const owners = (items ?? []).filter(({ role }) => role === "owner");
  const lasting = owners.filter(({ expires_at: end }) => end === null);
  /** The service keeps one owner key that does not expire. */
  const isOnly = (key: Key): boolean => lasting.length === 1 && lasting[0] === key;
  return (
    <PageFrame
      title="Keys"
      intro="Who may use this workspace, and for what. A key’s secret is shown once, when it is made. Newest first."
      actions={
        <Button kind="primary" icon="add" onClick={() => setMaking(true)}>
          New key
        </Button>
      }
    >
      <Card isFlush>
        <PagedTable
          label="Keys"
          pages={{ ...keys, items, more: null, isAwaited: false }}
          keyOf={(key) => key.key_id}
          empty={<Empty icon="key" title="There are no keys" />}
          columns={[
            {
              name: "Name",
              fit: "wide",
              show: (key) => (
                <span class="stack-tight">
                  <span class="row">
                    {key.name === null ? (
                      <span class="soft">without a name</span>
                    ) : (
                      <bdi class="name-lines" title={key.name}>
                        {visible(key.name)}
                      </bdi>
                    )}
                    {key.key_id === me && <Badge tone="accent">yours</Badge>}
                  </span>
                  {isOnly(key) && (
                    <>
                      <Badge tone="warn">only owner key{owners.length > 1 && " that does not expire"}</Badge>
                      <span class="soft small">cannot be revoked</span>
                    </>
                  )}
                </span>
              ),
            },
            { name: "Id", show: (key) => <Id id={key.key_id} what="the key id" /> },
            {
              name: "Rights",
              show: (key) => <Rights of={key} />,
            },
            { name: "Created", show: (key) => <BothTimes at={key.created_at} /> },
            { name: "Expires", show: (key) => <Expires of={key} /> },
            {
              name: "Actions",
              isNameless: true,
              fit: "end",
              show: (key) => (
                <span class="row">
                  {key.rotated_to === null && (
                    <Button isSmall onClick={() => setRotated(key)}>
                      Rotate…
                    </Button>
                  )}
                  {!isOnly(key) && (
                    <Button kind="risky" isSmall onClick={() => setRevoked(key)}>
                      Revoke
                    </Button>
                  )}
                </span>
              ),
            },
          ]}
        />
      </Card>
      {isMaking && (
        <NewKeyDialog
          onClose={() => setMaking(false)}
          onMade={(key) => {
            setMaking(false);
            setMade(key);
          }}
        />
      )}
      {made !== null && (
        <Made
          made={made}
          onClose={() => {
            setMade(null);
            // Only now: if one's own key was rotated, this ends the session.
            keys.reload();
          }}
        />
      )}
      {revoked !== null && (
        <Confirm
          title={`Revoke the key “${nameOf(revoked)}”?`}
          verb="Revoke the key"
          isDanger
          onClose={() => setRevoked(null)}
          act={async () => {
            await api("DELETE", `/v1/keys/${revoked.key_id}`);
            notify(`The key “${nameOf(revoked)}” is revoked.`);
            keys.reload();
          }}
        >
          <p>
            Whoever sends or reads with it is refused from now on, and what a sender keeps trying to send is lost when
            it gives up. {revoked.key_id === me && <strong>This is the key that you are logged in with.</strong>}
          </p>
        </Confirm>
      )}
      {rotated !== null && (
        <Confirm
          title={`Rotate the key “${nameOf(rotated)}”?`}
          verb="Create the new key"
          onClose={() => setRotated(null)}
          act={async () => setMade(await api<NewKey>("POST", `/v1/keys/${rotated.key_id}/rotate`, {}))}
        >
          <p>
            A new key takes its place with the same rights. The old one keeps working for a day, so that senders can
            change over. {rotated.key_id === me && <strong>It is yours: log in with the new one.</strong>}
          </p>
        </Confirm>
      )}
    </PageFrame>
  );
}

const nameOf = ({ name, key_id: id }: Key): string => name ?? id;

/** Limits have no column: most keys have none, and with it there is no room for a table. */
function Rights({ of: { role, send, origins, per_minute: most } }: { readonly of: Key }): JSX.Element {
  return (
    <span class="stack-tight rights">
      {send === null ? (
        <Badge tone={role === "owner" ? "violet" : "neutral"}>{role}</Badge>
      ) : (
        <Badge tone="info">{send === "collect" ? "events and SDKs" : "events, identify and alias"}</Badge>
      )}
      {origins?.map((one) => (
        <span key={one} class="origin small">
          <Address url={one} />
        </span>
      ))}
      {most !== null && <span class="small">{showNumber(most)} per minute</span>}
    </span>
  );
}

function Expires({ of: { rotated_to: to, expires_at: at } }: { readonly of: Key }): JSX.Element {
  if (at === null) return <span class="soft">never</span>;
  return (
    <span class="row">
      <BothTimes at={at} />
      {to !== null && <Badge tone="warn">rotated</Badge>}
    </span>
  );
}

/** The secret of a new key. */
export function Made({ made, onClose }: { readonly made: NewKey; readonly onClose: () => void }): JSX.Element {
  useSecret(true);
  return (
    <Dialog
      title={`The key ${made.name ?? ""}`}
      onClose={onClose}
      foot={
        <Button kind="primary" onClick={onClose}>
          I have saved it
        </Button>
      }
    >
      <Message tone="warn">Copy it now: it is not shown again.</Message>
      <Code text={made.key} wraps label="the key" />
    </Dialog>
  );
}

const NO_KEY = { role: "viewer" as Role, send: "", name: "", origins: "", perMinute: "" };

export function NewKeyDialog({
  onClose,
  onMade,
}: {
  readonly onClose: () => void;
  readonly onMade: (key: NewKey) => void;
}): JSX.Element {
  const { values, change } = useDraft(NO_KEY);
  const { role, send, name, origins, perMinute } = values;
  const close = (): void => whenFree(onClose);
  const making = useAction((body: unknown) => api<NewKey>("POST", "/v1/keys", body));
  const lines = origins.split(/\s+/).filter((line) => line !== "");
  const submit = async (): Promise<void> => {
    const made = await making.run({
      role: send === "" ? role : "editor",
      ...(name.trim() !== "" && { name: name.trim() }),
      ...(send !== "" && { send }),
      ...(send !== "" && lines.length > 0 && { origins: lines }),
      ...(send !== "" && perMinute !== "" && { per_minute: Number(perMinute) }),
    });
    if (made !== undefined) onMade(made);
  };
  return (
    <Dialog title="New key" onClose={close} isBusy={making.isBusy}>
      <Form onSubmit={() => void submit()}>
        <TextField
          label="Name"
          value={name}
          onInput={(next) => change({ name: next })}
          hint="What or who uses it: “shop web page”."
          wrong={wrongOf(making.error, "name")}
        />
        <SelectField label="What may it do?" value={send} options={SENDS} onChange={(next) => change({ send: next })} />
        {send === "" ? (
          <SelectField label="Role" value={role} options={ROLES} onChange={(next) => change({ role: next as Role })} />
        ) : (
          <>
            <AreaField
              label="Origins"
              rows={2}
              value={origins}
              onInput={(next) => change({ origins: next })}
              placeholder="https://shop.example"
              hint="The pages that may use it, one on each line. Empty: any page."
              wrong={wrongOf(making.error, "origins")}
            />
            <TextField
              label="Events per minute"
              type="number"
              min={1}
              value={perMinute}
              onInput={(next) => change({ perMinute: next })}
              hint="Empty: any number."
              wrong={wrongOf(making.error, "per_minute")}
            />
          </>
        )}
        <Failure error={making.error} />
        <div class="form-actions">
          <Button disabled={making.isBusy} onClick={close}>
            Cancel
          </Button>
          <Button kind="primary" type="submit" isBusy={making.isBusy}>
            Create
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
