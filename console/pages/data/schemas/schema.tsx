import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useAction, useQuery, useWhole } from "../../../api/hooks.js";
import { api, AwayError } from "../../../api/http.js";
import type { Schema } from "../../../api/records.js";
import { useMay } from "../../../state/session.js";
import type { PageProps } from "../../../state/pages.js";
import { useDraft, whenFree } from "../../../state/unsaved.js";
import {
  Badge,
  Button,
  Card,
  Empty,
  Failure,
  Form,
  Json,
  Loaded,
  Message,
  minute,
  Missing,
  notify,
  PageFrame,
  SelectField,
  Tabs,
  Time,
} from "../../../ui/kit.js";
import "../../../styles/schemas.css";
import { isBuiltIn } from "../sdk-events.js";
import { CheckEvent } from "./check.js";
import { CompatibilityField } from "./create.js";
import { diff, foldSame } from "./diff.js";
import { CORRECT, jsonProblem, SchemaEditor } from "./editor.js";

export function Page({ params, query }: PageProps): JSX.Element {
  const id = params["id"]!;
  const path = `/v1/schemas/${encodeURIComponent(id)}`;
  const schema = useQuery<Schema>(path);
  const versions = useWhole<Schema>(`${path}/versions?limit=100`, "schemas");
  const [tab, setTab] = useState(query.get("tab") ?? "schema");
  const mayEdit = useMay("admin");
  const mayCheck = useMay("editor");
  const reload = (): void => {
    schema.reload();
    versions.reload();
  };
  return (
    <PageFrame
      title={id}
      back={["#/schemas", "All schemas"]}
      intro={
        schema.data !== null && (
          <span class="row">
            <Badge tone="accent">version {schema.data.version}</Badge>
            {isBuiltIn(id) ? (
              <span class="soft">built in: the shape of what SDKs send</span>
            ) : (
              <span class="soft">
                registered <Time at={schema.data.created_at} />
              </span>
            )}
          </span>
        )
      }
    >
      <Loaded
        {...schema}
        lines={14}
        missing={
          <Missing what="schema" icon="schema" back={["#/schemas", "All schemas"]}>
            No schema of this workspace has this id. Capital and small letters differ.
          </Missing>
        }
      >
        {(latest) => (
          <Tabs
            label="Parts of the schema"
            chosen={tab}
            onChoose={(next) => whenFree(() => setTab(next))}
            tabs={[
              {
                id: "schema",
                name: "Schema",
                show: () => <Card>{<Json value={latest.schema} label="the schema" />}</Card>,
              },
              ...(mayCheck
                ? [
                    {
                      id: "check",
                      name: "Check an event",
                      show: () => <CheckEvent key={latest.version} schema={latest} letter={query.get("letter")} />,
                    },
                  ]
                : []),
              ...(mayEdit && !isBuiltIn(id)
                ? [
                    {
                      id: "edit",
                      name: "New version",
                      show: () => <Edit latest={latest} path={path} onStale={reload} />,
                    },
                  ]
                : []),
              ...(isBuiltIn(id)
                ? []
                : [
                    {
                      id: "versions",
                      name: "Versions",
                      show: () => (
                        <Card>
                          <Loaded {...versions}>{(items) => <Versions items={items} />}</Loaded>
                        </Card>
                      ),
                    },
                  ]),
            ]}
          />
        )}
      </Loaded>
    </PageFrame>
  );
}

const textOf = (schema: Schema): string => JSON.stringify(schema.schema, null, 2);
const draftOf = (schema: Schema): { readonly text: string; readonly compatibility: string } => ({
  text: textOf(schema),
  compatibility: schema.compatibility,
});

/** Whether a version is what was sent, however it was written. */
const isAs = (schema: Schema, sent: ReturnType<typeof draftOf>): boolean =>
  schema.compatibility === sent.compatibility &&
  JSON.stringify(schema.schema) === JSON.stringify(JSON.parse(sent.text));

function Edit({
  latest,
  path,
  onStale,
}: {
  readonly latest: Schema;
  readonly path: string;
  /** There is a newer version than the latest one that was read. */
  readonly onStale: () => void;
}): JSX.Element {
  const { values, base, change, settle } = useDraft(draftOf(latest));
  const { text, compatibility } = values;
  const before = base.text;
  /** The version that was there when the text was changed first, or that was made of it since. */
  const begun = useRef(latest.version);
  if (text === before) begun.current = Math.max(begun.current, latest.version);
  const isAsBefore = text === before && compatibility === base.compatibility;
  const setText = (next: string): void => change({ text: next });
  const [isHeld, setHeld] = useState(false);
  const [isRefused, setRefused] = useState(false);
  /** What was sent, and its answer lost. */
  const lost = useRef<readonly (typeof values)[]>([]);
  const storing = useAction(async (sent: typeof values) => {
    setHeld(false);
    // No route takes the version that a text was made of: somebody else's would be replaced unseen.
    const { version } = await api<Schema>("GET", path);
    if (version > Math.max(latest.version, begun.current)) {
      setHeld(lost.current.length === 0);
      onStale();
      return undefined;
    }
    const body = `{"compatibility":${JSON.stringify(sent.compatibility)},"schema":${sent.text}}`;
    return api<Schema>("POST", `${path}/versions`, body).catch((failed: unknown) => {
      if (failed instanceof AwayError) lost.current = [...lost.current, sent];
      throw failed;
    });
  });
  const registered = (version: number, sent: typeof values): void => {
    notify(`Version ${version} is registered. It counts for what comes in from now on.`);
    begun.current = version;
    lost.current = [];
    // What was typed meanwhile stays; else the page reads how it is stored.
    settle(sent);
  };
  const submit = async (): Promise<void> => {
    const made = await storing.run(values);
    if (made === undefined) return;
    registered(made.version, values);
    onStale();
  };
  useEffect(() => {
    const own = lost.current.find((sent) => isAs(latest, sent));
    if (own === undefined) return;
    storing.reset();
    registered(latest.version, own);
  }, [latest.version]);
  return (
    <Card>
      <Form onSubmit={() => void submit()}>
        <SchemaEditor
          text={text}
          onInput={setText}
          path={`${path}/versions`}
          compatibility={compatibility}
          isAsBefore={text === before}
          after={latest.version}
          onTried={(version) => version > latest.version + 1 && onStale()}
          onJudged={setRefused}
        />
        <CompatibilityField value={compatibility} onChange={(next) => change({ compatibility: next })} />
        {latest.version > begun.current && (
          <Message tone="warn">
            Version {latest.version} was registered meanwhile. Your text would take its place: see below what changes.
            {isHeld && " Nothing of yours was registered."}
          </Message>
        )}
        {jsonProblem(text) === null && text !== before && <Diff before={before} after={text} label="What changes" />}
        <Failure error={storing.error} />
        <div class="form-actions">
          <Button
            kind="primary"
            type="submit"
            isBusy={storing.isBusy}
            needs={
              text === before ? "Change the schema first" : isRefused || jsonProblem(text) !== null ? CORRECT : null
            }
          >
            Register the version
          </Button>
          <Button onClick={() => change(base)} disabled={isAsBefore}>
            Discard the changes
          </Button>
        </div>
      </Form>
    </Card>
  );
}

function Versions({ items }: { readonly items: readonly Schema[] }): JSX.Element {
  const sorted = items.toSorted((a, b) => b.version - a.version);
  const [to, setTo] = useState(String(sorted[0]?.version ?? ""));
  const [from, setFrom] = useState(String(sorted[1]?.version ?? sorted[0]?.version ?? ""));
  useEffect(() => {
    setTo(String(sorted[0]?.version ?? ""));
    setFrom(String(sorted[1]?.version ?? sorted[0]?.version ?? ""));
  }, [items.length]);
  const find = (version: string): Schema | undefined => sorted.find((one) => String(one.version) === version);
  const [before, after] = [find(from), find(to)];
  const options = sorted.map(
    ({ version, created_at: at }) => [String(version), `Version ${version}, ${minute(at)}`] as const,
  );
  if (sorted.length < 2)
    return (
      <Empty icon="changes" title="There is one version">
        When a second one is registered, this page shows what changed.
      </Empty>
    );
  return (
    <div class="stack">
      <div class="toolbar versions">
        <SelectField label="From" value={from} options={options} onChange={setFrom} />
        <SelectField label="To" value={to} options={options} onChange={setTo} />
      </div>
      {before !== undefined && after !== undefined && (
        <Diff before={textOf(before)} after={textOf(after)} label={`From version ${from} to ${to}`} />
      )}
    </div>
  );
}

const SIGNS = { same: " ", added: "+", removed: "−", folded: "⋯" } as const;

function Diff({
  before,
  after,
  label,
}: {
  readonly before: string;
  readonly after: string;
  readonly label: string;
}): JSX.Element {
  const lines = diff(before, after);
  if (lines.every(({ kind }) => kind === "same")) return <p class="soft">They are the same.</p>;
  return (
    <div class="code">
      <pre class="diff" tabIndex={0} role="region" aria-label={label}>
        <span class="diff-lines">
          {foldSame(lines).map(({ kind, text }, i) => (
            <span key={i} class={kind}>
              {SIGNS[kind]} {text}
              {"\n"}
            </span>
          ))}
        </span>
      </pre>
    </div>
  );
}
