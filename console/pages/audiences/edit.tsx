import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useAnswer } from "../../api/answer.js";
import { useAction } from "../../api/hooks.js";
import { api, ApiError, AwayError, isMissing, tagged } from "../../api/http.js";
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

/** Somebody else's change stands there. */
const isOutdated = (error: unknown): boolean => error instanceof ApiError && error.problem.status === 412;

type Values = Pick<Audience, "name" | "rule">;

const isSameRule = (one: Values, other: Values): boolean => JSON.stringify(one.rule) === JSON.stringify(other.rule);
const isAs = (one: Values, other: Values): boolean => one.name === other.name && isSameRule(one, other);

/** Stores a change. If an answer was lost, what stands there may be one's own: it is not taken for somebody else's. */
function useChange(): (standing: Standing, body: string) => Promise<Audience> {
  const lost = useRef<readonly Values[]>([]);
  return async ({ audience: { audience_id: id, rule }, tag }, body) => {
    const path = `/v1/audiences/${id}`;
    // A body without a rule leaves it as it is: as this page shows it, not as somebody else made it since.
    const wanted: Values = { rule, ...(JSON.parse(body) as Pick<Values, "name"> & Partial<Values>) };
    const put = async (of: string | null, sent: string): Promise<Audience> => {
      try {
        return await api<Audience>("PUT", path, sent, { headers: of === null ? {} : { "If-Match": of } });
      } catch (failed) {
        if (failed instanceof AwayError) lost.current = [...lost.current, wanted];
        throw failed;
      }
    };
    try {
      return await put(tag, body);
    } catch (failed) {
      if (!isOutdated(failed) || lost.current.length === 0) throw failed;
      const { answer: now, tag: next } = await tagged<Audience>("GET", path);
      if (isAs(now, wanted)) return now;
      if (!lost.current.some((sent) => isAs(now, sent))) throw failed;
      return put(next, isSameRule(now, wanted) ? body : JSON.stringify(wanted));
    }
  };
}

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
  const change = useChange();
  const storing = useAction(async () => {
    // A rule that is stored again is judged anew for everybody.
    const rule = before === undefined || isOther ? `,"rule":${text ?? "{}"}` : "";
    const body = `{"name":${JSON.stringify(name.trim())}${rule}}`;
    if (standing === null) return api<Audience>("POST", "/v1/audiences", body);
    return change(standing, body);
  });
  const isOld = isOutdated(storing.error);
  const go = useGo();
  useUnsaved(name !== (before?.name ?? "") || isOther);
  const submit = async (): Promise<void> => {
    const stored = await storing.run();
    if (stored === undefined) return;
    notify(`The audience ${stored.name} is saved.`);
    go(href("/audiences/:id", { id: stored.audience_id }));
  };
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
