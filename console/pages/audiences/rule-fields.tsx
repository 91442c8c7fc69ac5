import type { ComponentChildren, JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { ApiError } from "../../api/http.js";
import { AreaField, Card, Message, Tabs } from "../../ui/kit.js";
import { GroupFields } from "./builder/group.js";
import { useVocabulary } from "./builder/vocabulary.js";
import { PreviewCard, PreviewLine, usePreview } from "./preview.js";
import type { Group } from "./rule/model.js";
import { readRule } from "./rule/read.js";
import { jsonProblem, writeRule } from "./rule/write.js";

/** A rule under construction, by fields or as text. */
export interface Draft {
  readonly by: "builder" | "json";
  readonly group: Group;
  readonly text: string;
  /** What the text was read as: as long as that stands in the fields, so does the text, which they might write in another way. */
  readonly read: Group | null;
}

export function draftOf(rule: unknown): Draft {
  const group = readRule(rule);
  return { by: "builder", group, text: JSON.stringify(rule, null, 2), read: group };
}

/** The rule as JSON text; null while it is none. */
export function ruleTextOf({ by, group, text, read }: Draft): string | null {
  if (by === "json" || group === read) return jsonProblem(text) === null ? text : null;
  const { rule, unfinished } = writeRule(group);
  return unfinished.size > 0 ? null : JSON.stringify(rule);
}

/** The fields of a rule, what belongs below them, and beside both who it holds for. */
export function RuleFields({
  draft,
  onChange,
  children,
}: {
  readonly draft: Draft;
  readonly onChange: (draft: Draft) => void;
  readonly children: ComponentChildren;
}): JSX.Element {
  const vocabulary = useVocabulary();
  const previewed = usePreview(ruleTextOf(draft));
  const [stuck, setStuck] = useState<string | null>(null);
  const wrongs = useMemo(() => wrongsOf(draft, previewed.error), [draft, previewed.error]);
  const choose = (by: string): void => {
    if (by === draft.by) return;
    if (by === "json") {
      const { group, text, read } = draft;
      return onChange({ ...draft, by, text: group === read ? text : JSON.stringify(writeRule(group).rule, null, 2) });
    }
    const problem = jsonProblem(draft.text);
    setStuck(problem);
    if (problem !== null) return;
    const group = readRule(JSON.parse(draft.text));
    onChange({ ...draft, by: "builder", group, read: group });
  };
  const isMarked = draft.by === "builder" && wrongs.size > 0;
  const isUnfinished = isMarked || ruleTextOf(draft) === null;
  return (
    <div class="rule-fields">
      <div>
        <Card>
          <Tabs
            label="How the rule is written"
            chosen={draft.by}
            onChoose={choose}
            tabs={[
              {
                id: "builder",
                name: "Builder",
                show: () => (
                  <>
                    {vocabulary.hasTraits === false && <NoTraits />}
                    <GroupFields
                      group={draft.group}
                      vocabulary={vocabulary}
                      wrongs={wrongs}
                      isUnfinished={ruleTextOf(draft) === null}
                      onChange={(group) => onChange({ ...draft, group })}
                    />
                  </>
                ),
              },
              {
                id: "json",
                name: "JSON",
                show: () => (
                  <AreaField
                    label="Rule"
                    isCode
                    rows={16}
                    value={draft.text}
                    wrong={jsonProblem(draft.text) ?? stuck}
                    hint="As the API takes it."
                    onInput={(text) => {
                      setStuck(null);
                      onChange({ ...draft, text });
                    }}
                  />
                ),
              },
            ]}
          />
        </Card>
        <PreviewLine previewed={previewed} isUnfinished={isUnfinished} />
        {children}
      </div>
      <PreviewCard previewed={isMarked ? { ...previewed, error: null } : previewed} isUnfinished={isUnfinished} />
    </div>
  );
}

const NoTraits = (): JSX.Element => (
  <Message tone="info">
    <span>
      There are no traits yet. They come with identify calls of SDKs, and with fields that a{" "}
      <a href="#/schemas">schema</a> marks as x-trait. Until then a rule can test identifiers, events, first_seen,
      last_seen and event_count.
    </span>
  </Message>
);

/** What is missing, and what the service said, each at the part that it is about. What is about none stays out. */
function wrongsOf({ by, group }: Draft, error: unknown): ReadonlyMap<number, readonly string[]> {
  const wrongs = new Map<number, readonly string[]>();
  if (by === "json") return wrongs;
  const { places, unfinished } = writeRule(group);
  for (const [id, text] of unfinished) wrongs.set(id, [text]);
  if (unfinished.size > 0 || !(error instanceof ApiError)) return wrongs;
  for (const { path, message } of error.problem.errors ?? []) {
    // The innermost part, which is the one with the longest path.
    const [place] = places
      .filter(([at, id]) => id !== group.id && (path === at || path.startsWith(`${at}.`)))
      .toSorted(([a], [b]) => b.length - a.length);
    if (place === undefined) continue;
    const rest = path.slice(place[0].length + 1);
    wrongs.set(place[1], [...(wrongs.get(place[1]) ?? []), rest === "" ? message : `${rest} ${message}`]);
  }
  return wrongs;
}
