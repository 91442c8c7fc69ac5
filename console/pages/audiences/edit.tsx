import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useAnswer } from "../../api/answer.js";
import { useAction } from "../../api/hooks.js";
import { api, ApiError, isMissing, tagged } from "../../api/http.js";
import type { Audience } from "../../api/audiences.js";
import type { PageProps } from "../../state/pages.js";
import { href, useGo } from "../../state/router.js";
import { useUnsaved } from "../../state/unsaved.js";
import {
  Button,
  Card,
  Failure,
  Form,
  LinkButton,
  Loaded,
  Message,
  notify,
  PageFrame,
  TextField,
  wrongOf,
} from "../../ui/kit.js";
import { newField, newGroup, type Group } from "./rule/model.js";
import { writeRule } from "./rule/write.js";
import { draftOf, RuleFields, ruleTextOf, type Draft } from "./rule-fields.js";
import { NoAudience } from "./state.js";
import "../../styles/audiences.css";

const ALL = ["#/audiences", "All audiences"] as const;

interface Standing {
  readonly audience: Audience;
  /** What it must still be, so that nobody's change is written over. */
  readonly tag: string | null;
}

/** A new audience, or another rule or name of one that stands. */
export function Page({ params }: PageProps): JSX.Element {
  const id = params["id"];
  return id === undefined ? <Edit standing={null} /> : <Change id={id} />;
}

function Change({ id }: { readonly id: string }): JSX.Element {
  const {
    data: standing,
    error,
    again,
  } = useAnswer(id, async (signal): Promise<Standing> => {
    const path = `/v1/audiences/${encodeURIComponent(id)}`;
    const { answer: audience, tag } = await tagged<Audience>("GET", path, undefined, { signal });
    return { audience, tag };
  });
  if (standing !== null) return <Edit standing={standing} onReload={again} />;
  if (isMissing(error))
    return (
      <PageFrame title="Edit the audience">
        <NoAudience />
      </PageFrame>
    );
  return (
    <PageFrame title="Edit the audience">
      <Card>
        <Loaded data={null} error={error} reload={again} lines={12}>
          {() => null}
        </Loaded>
      </Card>
    </PageFrame>
  );
}

const shapeOf = (group: Group): string =>
  JSON.stringify(group, (name, value: unknown) => (name === "id" ? undefined : value));

/** What cannot be stored yet is work, too. How a rule is written is none. */
function isChanged(first: Draft, now: Draft): boolean {
  if (now.by === "builder" && shapeOf(now.group) === shapeOf(first.group)) return false;
  const text = ruleTextOf(now);
  if (text === null) return true;
  const rule = JSON.stringify(JSON.parse(text));
  const isRead = first.read !== null && rule === JSON.stringify(JSON.parse(first.text));
  return !isRead && rule !== JSON.stringify(writeRule(first.group).rule);
}

/** What is to be done before it can be saved; null: nothing. */
const needsOf = (name: string, ruleText: string | null): string | null =>
  name.trim() === "" ? "Enter a name" : ruleText === null ? "Finish the conditions" : null;

function Edit({
  standing,
  onReload,
}: {
  readonly standing: Standing | null;
  readonly onReload?: () => void;
}): JSX.Element {
  const before = standing?.audience;
  const [name, setName] = useState(before?.name ?? "");
  const [first] = useState<Draft>(() =>
    before === undefined
      ? { by: "builder", group: newGroup("all", [newField()]), text: "", read: null }
      : draftOf(before.rule),
  );
  const [draft, setDraft] = useState(first);
  const text = ruleTextOf(draft);
  const isOther = isChanged(first, draft);
  const storing = useAction(async () => {
    // A rule that is stored again is judged anew for everybody.
    const rule = before === undefined || isOther ? `,"rule":${text ?? "{}"}` : "";
    const body = `{"name":${JSON.stringify(name.trim())}${rule}}`;
    if (before === undefined) return api<Audience>("POST", "/v1/audiences", body);
    const headers = { ...(standing?.tag !== null && standing !== null && { "If-Match": standing.tag }) };
    return api<Audience>("PUT", `/v1/audiences/${before.audience_id}`, body, { headers });
  });
  const go = useGo();
  useUnsaved(name !== (before?.name ?? "") || isOther);
  const submit = async (): Promise<void> => {
    const stored = await storing.run();
    if (stored === undefined) return;
    notify(`The audience ${stored.name} is saved.`);
    go(href("/audiences/:id", { id: stored.audience_id }));
  };
  const isOld = storing.error instanceof ApiError && storing.error.problem.status === 412;
  // A refusal is about what stood there then; that it is another's turn stays true.
  useEffect(() => {
    if (!isOld) storing.reset();
  }, [name, text]);
  return (
    <PageFrame
      title={before === undefined ? "New audience" : `Edit “${before.name}”`}
      back={before === undefined ? ALL : [href("/audiences/:id", { id: before.audience_id }), "The audience"]}
      intro="The profiles that match the rule are counted while you build it. Nothing is saved before you say so."
    >
      <Form onSubmit={() => void submit()}>
        <Card>
          <TextField
            label="Name"
            value={name}
            onInput={setName}
            placeholder="Big spenders of 90 days"
            wrong={wrongOf(storing.error, "name")}
          />
        </Card>
        <RuleFields draft={draft} onChange={setDraft}>
          {isOld ? (
            <Message tone="bad">
              <strong>Somebody else changed this audience meanwhile</strong>
              <span>Nothing of yours is saved. Read it again, and make your change on top of theirs.</span>
              <div>
                <Button isSmall onClick={() => onReload?.()}>
                  Read it again
                </Button>
              </div>
            </Message>
          ) : (
            <Failure error={storing.error} />
          )}
          <div class="form-actions">
            <Button kind="primary" type="submit" isBusy={storing.isBusy} needs={needsOf(name, text)}>
              {before === undefined ? "Create the audience" : "Save"}
            </Button>
            <LinkButton
              href={before === undefined ? "#/audiences" : href("/audiences/:id", { id: before.audience_id })}
            >
              Cancel
            </LinkButton>
          </div>
        </RuleFields>
      </Form>
    </PageFrame>
  );
}
