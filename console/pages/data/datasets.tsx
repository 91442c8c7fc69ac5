import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAction, usePages, useWhole } from "../../api/hooks.js";
import { api } from "../../api/http.js";
import type { Backfill, Dataset, Schema } from "../../api/records.js";
import { href } from "../../state/router.js";
import { useMay } from "../../state/session.js";
import { changesOf, useDraft, whenFree } from "../../state/unsaved.js";
import {
  Badge,
  BothTimes,
  Button,
  Card,
  CheckField,
  count,
  Dialog,
  Empty,
  Failure,
  Form,
  LinkButton,
  notify,
  Num,
  PagedTable,
  PageFrame,
  SelectField,
  TextField,
  wrongOf,
} from "../../ui/kit.js";
import { Fill } from "./fill.js";
import { API_EVENTS, SDK_EVENTS } from "./sdk-events.js";

const EVERY_MS = 5_000;
const FOLDED = "The data of its events is added to the profiles of the people that they name.";

export function Page(): JSX.Element {
  const datasets = usePages<Dataset>("/v1/datasets", "datasets");
  const backfills = usePages<Backfill>("/v1/backfills", "backfills", { every: EVERY_MS });
  const [edited, setEdited] = useState<Dataset | "new" | null>(null);
  const [filled, setFilled] = useState<Dataset | null>(null);
  const mayEdit = useMay("admin");
  const create = (
    <Button kind="primary" icon="add" onClick={() => setEdited("new")}>
      New dataset
    </Button>
  );
  return (
    <PageFrame
      title="Datasets"
      intro="The events of a schema: whether they are folded (their data is added to the person’s profile), and how long they are kept."
      actions={mayEdit && create}
    >
      <Card isFlush>
        <PagedTable
          label="Datasets"
          pages={datasets}
          keyOf={({ dataset_id: id }) => id}
          empty={
            <Empty
              icon="dataset"
              title="There is no dataset yet"
              action={<LinkButton href="#/start">Set up a sender</LinkButton>}
            >
              {API_EVENTS} {SDK_EVENTS}
            </Empty>
          }
          columns={[
            { name: "Name", fit: "wide", show: ({ name }) => <strong>{name}</strong> },
            {
              name: "Schema",
              fit: "wide",
              show: ({ schema_id: id }) => <a href={href("/schemas/:id", { id })}>{id}</a>,
            },
            {
              name: "Profiles",
              means: "Whether its events change profiles.",
              show: ({ unified_profile: is }) =>
                is ? (
                  <span title={FOLDED}>
                    <Badge tone="good">folded</Badge>
                  </span>
                ) : (
                  <span title="Its events are kept, and their data is in no profile.">
                    <Badge>stored only</Badge>
                  </span>
                ),
            },
            {
              name: "Kept",
              means: "How long its events are kept.",
              show: ({ retention_days: n }) => <span class="nowrap">{n === null ? "forever" : count(n, "day")}</span>,
            },
            { name: "Created", show: ({ created_at: at }) => <BothTimes at={at} /> },
            ...(mayEdit
              ? [
                  {
                    name: "Actions",
                    isNameless: true,
                    fit: "end" as const,
                    show: (one: Dataset) => (
                      <span class="row">
                        {one.unified_profile && (
                          <Button isSmall onClick={() => setFilled(one)}>
                            Backfill…
                          </Button>
                        )}
                        <Button isSmall onClick={() => setEdited(one)}>
                          Edit
                        </Button>
                      </span>
                    ),
                  },
                ]
              : []),
          ]}
        />
      </Card>
      {(backfills.items?.length ?? 0) > 0 && (
        <Card
          title="Backfills"
          note="A backfill folds the events that were stored before their dataset was enabled."
          isFlush
        >
          <PagedTable
            label="Backfills"
            pages={backfills}
            keyOf={({ backfill_id: id }) => id}
            empty={null}
            columns={[
              { name: "Schema", fit: "wide", show: ({ schema_id: id }) => id },
              {
                name: "State",
                show: ({ state }) => (
                  <Badge tone={state === "done" ? "good" : state === "stopped" ? "neutral" : "info"}>{state}</Badge>
                ),
              },
              {
                name: "Folded",
                means: "So many events were added to profiles so far.",
                fit: "end",
                show: ({ done }) => <Num value={done} />,
              },
              { name: "Of", fit: "end", show: ({ total }) => (total === null ? "many" : <Num value={total} />) },
              { name: "Begun", show: ({ created_at: at }) => <BothTimes at={at} /> },
            ]}
          />
        </Card>
      )}
      {edited !== null && (
        <Edit
          of={edited}
          onClose={() => setEdited(null)}
          onDone={(name) => {
            setEdited(null);
            notify(`The dataset ${name} is saved.`);
            datasets.reload();
          }}
        />
      )}
      {filled !== null && (
        <Fill
          of={filled}
          onClose={() => setFilled(null)}
          onDone={() => {
            notify(`The backfill of ${filled.name} has begun.`);
            backfills.reload();
          }}
        />
      )}
    </PageFrame>
  );
}

function Edit({
  of,
  onClose,
  onDone,
}: {
  readonly of: Dataset | "new";
  readonly onClose: () => void;
  readonly onDone: (name: string) => void;
}): JSX.Element {
  const standing = of === "new" ? null : of;
  const schemas = useWhole<Schema>(standing === null ? "/v1/schemas?limit=100" : null, "schemas");
  const { values, base, change } = useDraft({
    name: standing?.name ?? "",
    schemaId: standing?.schema_id ?? "",
    isFolded: standing?.unified_profile ?? true,
    days: String(standing?.retention_days ?? ""),
  });
  const { name, schemaId, isFolded, days } = values;
  const close = (): void => whenFree(onClose);
  const storing = useAction(async () => {
    const bodyOf = (of: typeof values) => ({
      name: of.name.trim(),
      unified_profile: of.isFolded,
      retention_days: of.days === "" ? null : Number(of.days),
    });
    const body = bodyOf(values);
    if (standing === null) await api("POST", "/v1/datasets", { ...body, schema_id: schemaId });
    else await api("PATCH", `/v1/datasets/${standing.dataset_id}`, changesOf(bodyOf(base), body));
    return true;
  });
  const submit = async (): Promise<void> => {
    if ((await storing.run()) === true) onDone(name.trim());
  };
  const options = (schemas.data ?? []).map(({ schema_id: id }) => [id, id] as const);
  if (standing === null && schemas.data?.length === 0)
    return (
      <Dialog title="New dataset" onClose={onClose}>
        <Empty
          icon="schema"
          title="It needs a schema first"
          action={
            <LinkButton kind="primary" href="#/new-schema">
              New schema
            </LinkButton>
          }
        >
          A dataset holds the events of one schema.
        </Empty>
      </Dialog>
    );
  return (
    <Dialog
      title={standing === null ? "New dataset" : `Edit the dataset “${standing.name}”`}
      onClose={close}
      isBusy={storing.isBusy}
    >
      <Form onSubmit={() => void submit()}>
        <TextField
          label="Name"
          value={name}
          onInput={(next) => change({ name: next })}
          wrong={wrongOf(storing.error, "name")}
        />
        {standing === null && (
          <SelectField
            label="Schema"
            value={schemaId}
            options={[["", "choose one"], ...options]}
            onChange={(next) => change({ schemaId: next })}
            wrong={wrongOf(storing.error, "schema_id")}
          />
        )}
        <CheckField
          label="Fold its events into profiles"
          hint="From now on. A backfill folds those that are stored already."
          checked={isFolded}
          onChange={(next) => change({ isFolded: next })}
        />
        <TextField
          label="Keep events for (days)"
          type="number"
          min={1}
          value={days}
          onInput={(next) => change({ days: next })}
          placeholder="forever"
          hint="Older ones are deleted; the profiles keep what they took from them."
          wrong={wrongOf(storing.error, "retention_days")}
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
            needs={
              name.trim() === "" ? "Enter a name" : standing === null && schemaId === "" ? "Choose a schema" : null
            }
          >
            {standing === null ? "Create" : "Save"}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
