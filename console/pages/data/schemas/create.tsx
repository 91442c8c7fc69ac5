import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { useAction } from "../../../api/hooks.js";
import { api, hasItem } from "../../../api/http.js";
import type { Dataset, Schema } from "../../../api/records.js";
import { href, useGo } from "../../../state/router.js";
import { useUnsaved } from "../../../state/unsaved.js";
import {
  Button,
  Card,
  CheckField,
  Failure,
  Form,
  LinkButton,
  notify,
  PageFrame,
  SelectField,
  TextField,
  wrongOf,
} from "../../../ui/kit.js";
import { CORRECT, jsonProblem, SchemaEditor } from "./editor.js";

const EXAMPLE = JSON.stringify(
  {
    type: "object",
    required: ["email"],
    properties: {
      email: { type: "string", format: "email", "x-identity": { namespace: "email" } },
      cookie: { type: "string", "x-identity": { namespace: "cookie_id" } },
      city: { type: "string", "x-trait": { name: "city" } },
    },
  },
  null,
  2,
);

const COMPATIBILITIES = [
  ["backward", "backward"],
  ["none", "none"],
] as const;

export const CompatibilityField = ({
  value,
  onChange,
}: {
  readonly value: string;
  readonly onChange: (value: string) => void;
}): JSX.Element => (
  <SelectField
    label="Compatibility"
    value={value}
    options={COMPATIBILITIES}
    onChange={onChange}
    hint="backward: a new version must still accept every event that the previous version accepts. none: a new version may change anything."
  />
);

const hasDataset = (schemaId: string): Promise<boolean> =>
  hasItem<Dataset>("/v1/datasets", "datasets", ({ schema_id: of }) => of === schemaId);

export function Page(): JSX.Element {
  const [id, setId] = useState("");
  const [text, setText] = useState(EXAMPLE);
  const [compatibility, setCompatibility] = useState("backward");
  const [isFolded, setFolded] = useState(true);
  const [isRefused, setRefused] = useState(false);
  const registered = useRef<{ readonly body: string; readonly made: Schema } | null>(null);
  const storing = useAction(async () => {
    const head = { ...(id.trim() !== "" && { schema_id: id.trim() }), compatibility };
    const body = `${JSON.stringify(head).slice(0, -1)},"schema":${text}}`;
    // Where the dataset failed, the schema is there already, and where only the answer was lost, so is the dataset.
    const isAgain = registered.current?.body === body;
    if (registered.current?.body !== body)
      registered.current = { body, made: await api<Schema>("POST", "/v1/schemas", body) };
    const { made } = registered.current;
    if (isFolded && !(isAgain && (await hasDataset(made.schema_id))))
      await api("POST", "/v1/datasets", { name: made.schema_id, schema_id: made.schema_id, unified_profile: true });
    return made;
  });
  const go = useGo();
  const isExample = text === EXAMPLE;
  useUnsaved(id !== "" || !isExample);
  const submit = async (): Promise<void> => {
    const made = await storing.run();
    if (made === undefined) return;
    notify(`The schema ${made.schema_id} is registered.`);
    go(href("/schemas/:id", { id: made.schema_id }));
  };
  return (
    <PageFrame
      title="New schema"
      back={["#/schemas", "All schemas"]}
      intro="The schema is checked while you write it. Nothing is stored before you register it."
    >
      <Card>
        <Form onSubmit={() => void submit()}>
          <TextField
            label="Schema id"
            value={id}
            onInput={setId}
            placeholder="signup"
            hint={`Senders name it in schema_id.${isExample ? "" : " If it is empty, one is generated."}`}
            wrong={wrongOf(storing.error, "schema_id")}
          />
          <SchemaEditor
            text={text}
            onInput={setText}
            path="/v1/schemas"
            compatibility={compatibility}
            onJudged={setRefused}
          >
            {isExample && (
              <p class="soft small">
                This is an example: put the fields of your own events in the place of its fields.
              </p>
            )}
          </SchemaEditor>
          <CompatibilityField value={compatibility} onChange={setCompatibility} />
          <CheckField
            label="Fold its events into profiles"
            hint="Makes a dataset of the same name whose events are folded into profiles."
            checked={isFolded}
            onChange={setFolded}
          />
          <Failure error={storing.error} />
          <div class="form-actions">
            <Button
              kind="primary"
              type="submit"
              isBusy={storing.isBusy}
              needs={
                isExample && id.trim() === ""
                  ? "Enter a schema id, or change the example"
                  : isRefused || jsonProblem(text) !== null
                    ? CORRECT
                    : null
              }
            >
              Register
            </Button>
            <LinkButton href="#/schemas">Cancel</LinkButton>
          </div>
        </Form>
      </Card>
    </PageFrame>
  );
}
