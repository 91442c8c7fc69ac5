import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAction, usePages } from "../../api/hooks.js";
import { api, ApiError, hasItem } from "../../api/http.js";
import type { Namespace } from "../../api/records.js";
import { useMay } from "../../state/session.js";
import { changesOf, useDraft, whenFree } from "../../state/unsaved.js";
import {
  AreaField,
  Badge,
  Button,
  Card,
  Dialog,
  Empty,
  Failure,
  Form,
  notify,
  Num,
  PagedTable,
  PageFrame,
  SelectField,
  TextField,
  wrongOf,
} from "../../ui/kit.js";

const KINDS = [
  ["person", "person: a login, an e-mail address"],
  ["device", "device: a cookie, an app on a phone"],
] as const;
const NORMALIZATIONS = [
  ["none", "none: exactly as sent"],
  ["email", "e-mail: lower case, spaces cut"],
  ["phone", "phone: international form"],
] as const;
const PRIORITY =
  "Where not all of an event’s identifiers may link, those of the namespace with the higher priority are kept; 0 is the lowest.";
const LIMIT = "How many values of the namespace one profile may have: with 1, it never gets a second one.";
const BLOCKED = "How many values identify nobody, whoever sends them.";
const KIND =
  "Keys for events and SDKs can give a profile only one value of a namespace of kind person, but any number of values of kind device.";
/** A longer name takes several lines. */
const WHOLE_MAX = 24;
const BLANK: Namespace = { name: "", kind: "person", normalization: "none", limit: null, priority: 0, blocked: [] };

export function Page(): JSX.Element {
  const namespaces = usePages<Namespace>("/v1/namespaces?limit=100", "namespaces");
  const [edited, setEdited] = useState<Namespace | null>(null);
  const mayEdit = useMay("admin");
  return (
    <PageFrame
      title="Namespaces"
      intro="What identifiers there are, and what keeps different people apart."
      actions={
        mayEdit && (
          <Button kind="primary" icon="add" onClick={() => setEdited(BLANK)}>
            New namespace
          </Button>
        )
      }
    >
      <Card isFlush>
        <PagedTable
          label="Namespaces"
          pages={namespaces}
          keyOf={({ name }) => name}
          empty={<Empty icon="namespace" title="There are no namespaces" />}
          columns={[
            {
              name: "Name",
              show: ({ name }) => <strong class={name.length > WHOLE_MAX ? "break" : "nowrap"}>{name}</strong>,
            },
            {
              name: "Kind",
              means: KIND,
              show: ({ kind }) => <Badge tone={kind === "person" ? "accent" : "info"}>{kind}</Badge>,
            },
            {
              name: "Normalization",
              show: ({ normalization }) => (normalization === "none" ? <span class="soft">none</span> : normalization),
            },
            {
              name: "Limit",
              means: LIMIT,
              fit: "end",
              show: ({ limit }) => (limit === null ? <span class="soft">none</span> : <Num value={limit} />),
            },
            { name: "Priority", means: PRIORITY, fit: "end", show: ({ priority }) => <Num value={priority} /> },
            {
              name: "Blocked",
              means: BLOCKED,
              fit: "end",
              show: ({ blocked }) =>
                blocked.length === 0 ? <span class="soft">none</span> : <Num value={blocked.length} />,
            },
            ...(mayEdit
              ? [
                  {
                    name: "Actions",
                    isNameless: true,
                    fit: "end" as const,
                    show: (one: Namespace) => (
                      <Button isSmall onClick={() => setEdited(one)}>
                        Edit
                      </Button>
                    ),
                  },
                ]
              : []),
          ]}
        />
      </Card>
      {edited !== null && (
        <Edit
          of={edited}
          onClose={() => setEdited(null)}
          onDone={(name) => {
            setEdited(null);
            notify(`The namespace ${name} is saved. It counts for what comes in from now on.`);
            namespaces.reload();
          }}
        />
      )}
    </PageFrame>
  );
}

interface Fields extends Pick<Namespace, "name" | "kind" | "normalization"> {
  readonly limit: string;
  readonly priority: string;
  readonly blocked: string;
}

const bodyOf = ({ kind, normalization, limit, priority, blocked }: Fields) => ({
  kind,
  normalization,
  limit: limit === "" ? null : Number(limit),
  // What is not given stays.
  ...(priority === "" ? {} : { priority: Number(priority) }),
  blocked: blocked.split("\n").filter((line) => line !== ""),
});

/** What is sent for a new one would take the place of all settings of one that has its name. */
async function requireFree(name: string): Promise<void> {
  if (await hasItem<Namespace>("/v1/namespaces", "namespaces", (one) => one.name === name)) throw taken();
}

const taken = (): ApiError => {
  const message = "exists already; edit it in the list";
  const title = "The name is taken";
  const detail = "There is a namespace of this name.";
  return new ApiError({ code: "conflict", title, detail, status: 409, errors: [{ path: "name", message }] }, null);
};

function Edit({
  of,
  onClose,
  onDone,
}: {
  readonly of: Namespace;
  readonly onClose: () => void;
  readonly onDone: (name: string) => void;
}): JSX.Element {
  const isNew = of.name === "";
  const { values, base, change } = useDraft<Fields>({
    name: of.name,
    kind: of.kind,
    normalization: of.normalization,
    limit: of.limit === null ? "" : String(of.limit),
    // What is not given is the lowest: the placeholder says so.
    priority: isNew ? "" : String(of.priority),
    blocked: of.blocked.join("\n"),
  });
  const { name, kind, normalization, limit, priority, blocked } = values;
  const close = (): void => whenFree(onClose);
  const storing = useAction(async (body: unknown) => {
    if (isNew) await requireFree(name.trim());
    await api("PUT", `/v1/namespaces/${encodeURIComponent(name.trim())}`, body);
    return true;
  });
  const submit = async (): Promise<void> => {
    const body = bodyOf(values);
    const done = await storing.run(isNew ? body : changesOf(bodyOf(base), body));
    if (done === true) onDone(name.trim());
  };
  return (
    <Dialog title={isNew ? "New namespace" : `Edit the namespace “${of.name}”`} onClose={close} isBusy={storing.isBusy}>
      <Form onSubmit={() => void submit()}>
        {isNew && (
          <TextField
            label="Name"
            value={name}
            onInput={(next) => change({ name: next })}
            placeholder="loyalty_card"
            wrong={wrongOf(storing.error, "name")}
          />
        )}
        <SelectField
          label="Kind"
          value={kind}
          options={KINDS}
          hint={KIND}
          onChange={(next) => change({ kind: next as Namespace["kind"] })}
        />
        <SelectField
          label="Normalization"
          value={normalization}
          options={NORMALIZATIONS}
          onChange={(next) => change({ normalization: next as Namespace["normalization"] })}
          wrong={wrongOf(storing.error, "normalization")}
        />
        <TextField
          label="Limit"
          type="number"
          min={1}
          max={1_000}
          value={limit}
          onInput={(next) => change({ limit: next })}
          placeholder="any number"
          hint="How many values one profile may have: 1 where one value is one person, such as a login. Empty: any number."
          wrong={wrongOf(storing.error, "limit")}
        />
        <TextField
          label="Priority"
          type="number"
          min={0}
          max={1_000}
          value={priority}
          onInput={(next) => change({ priority: next })}
          {...(isNew && { placeholder: "0, the lowest" })}
          hint={PRIORITY}
          wrong={wrongOf(storing.error, "priority")}
        />
        <AreaField
          label="Blocked values"
          rows={4}
          value={blocked}
          onInput={(next) => change({ blocked: next })}
          hint="Values that identify nobody, one on each line: “test@example.com”, “unknown”."
          wrong={wrongOf(storing.error, "blocked")}
        />
        <Failure error={storing.error} />
        <div class="form-actions">
          <Button disabled={storing.isBusy} onClick={close}>
            Cancel
          </Button>
          <Button
            kind="primary"
            type="submit"
            isBusy={storing.isBusy}
            needs={name.trim() === "" ? "Enter a name" : null}
          >
            {isNew ? "Create" : "Save"}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
