import type { ComponentChildren, JSX } from "preact";
import { useEffect } from "preact/hooks";
import { useAnswer } from "../../../api/answer.js";
import { api, ApiError } from "../../../api/http.js";
import type { Schema } from "../../../api/records.js";
import type { ErrorItem } from "../../../api/types.js";
import { AreaField, Badge, Failure, Message } from "../../../ui/kit.js";
import { annotationsOf } from "./annotations.js";

export interface Trial extends Omit<Schema, "schema_id"> {
  readonly warnings: readonly ErrorItem[];
}

const TRIED_MS = 500;

/** Null where it is JSON; else why not. */
export function jsonProblem(text: string): string | null {
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : "is not JSON";
  }
}

const [ROWS_MIN, ROWS_MAX] = [12, 32];
/** As many as there are lines, within reason; beyond, its edge shows that it scrolls. */
const rowsOf = (text: string): number => Math.min(ROWS_MAX, Math.max(ROWS_MIN, text.split("\n").length + 1));

export interface EditorProps {
  readonly text: string;
  readonly onInput: (text: string) => void;
  /** Where it would be registered; asked with `dry_run` after each change. */
  readonly path: string;
  readonly compatibility: string;
  /** The text is the one to begin with. */
  readonly isAsBefore?: boolean;
  /** The version that it would follow: it is tried anew where that is another one. */
  readonly after?: number;
  /** Hears of each trial which version it would become. */
  readonly onTried?: (version: number) => void;
  /** Hears whether the service would refuse the text as it stands; while that is not known, not. */
  readonly onJudged?: (isRefused: boolean) => void;
  readonly children?: ComponentChildren;
}

/** What a form needs while the service would refuse its text. */
export const CORRECT = "Correct the schema first";
const JUDGED: ReadonlySet<string> = new Set([
  "validation_failed",
  "invalid_schema",
  "incompatible_schema",
  "schema_too_expensive",
]);
const isJudged = (error: unknown): error is ApiError => error instanceof ApiError && JUDGED.has(error.problem.code);

const NO_WAY = "matches none of the schemas in anyOf";
/** Where a place can be written in several ways, the first error alone: the other ways' errors contradict it. */
function inOneWay(error: unknown): unknown {
  if (!isJudged(error)) return error;
  const { problem, retryAfter } = error;
  const ways = new Set(problem.errors?.flatMap(({ path, message }) => (message === NO_WAY ? [path] : [])));
  const errors = problem.errors?.filter(
    ({ path }, i, all) => !ways.has(path) || all.findIndex((one) => one.path === path) === i,
  );
  return new ApiError({ ...problem, ...(errors !== undefined && { errors }) }, retryAfter);
}

/** A text area whose schema is tried out while it is written: nothing is stored. */
export function SchemaEditor({
  text,
  onInput,
  path,
  compatibility,
  isAsBefore = false,
  after,
  onTried,
  onJudged,
  children,
}: EditorProps): JSX.Element {
  const problem = jsonProblem(text);
  const body = `{"compatibility":${JSON.stringify(compatibility)},"schema":${text}}`;
  const { data: trial, error } = useAnswer(
    problem === null ? `${path} ${after ?? ""} ${body}` : null,
    (signal) => api<Trial>("POST", `${path}?dry_run=true`, body, { signal, isRead: true }),
    TRIED_MS,
  );
  useEffect(() => {
    if (trial !== null) onTried?.(trial.version);
  }, [trial]);
  useEffect(() => onJudged?.(isJudged(error)), [error]);
  return (
    <div class="stack">
      <AreaField label="JSON Schema" isCode rows={rowsOf(text)} value={text} onInput={onInput} wrong={problem} />
      {children}
      {error !== null && <Failure error={inOneWay(error)} />}
      {/* In the place of the answer, so that what is below stays where it is. */}
      {problem === null && error === null && trial === null && <Message tone="info">Checking…</Message>}
      {trial !== null && <Tried trial={trial} isAsBefore={isAsBefore} />}
    </div>
  );
}

function Tried({ trial, isAsBefore }: { readonly trial: Trial; readonly isAsBefore: boolean }): JSX.Element {
  const { identities, traits } = annotationsOf(trial.schema);
  return (
    <div class="stack-small">
      <Message tone={isAsBefore ? "info" : "good"}>
        <strong>{isAsBefore ? "Nothing is changed yet." : `Valid: this would become version ${trial.version}.`}</strong>
        {identities.length === 0 && <span>No field has x-identity, so its events belong to nobody.</span>}
      </Message>
      {trial.warnings.length > 0 && (
        <Message tone="warn">
          <strong>These words are no keywords, and do nothing</strong>
          <ul>
            {trial.warnings.map(({ path, message }) => (
              <li key={path}>
                <code>{path}</code> {message}
              </li>
            ))}
          </ul>
        </Message>
      )}
      {(identities.length > 0 || traits.length > 0) && (
        <div class="row">
          {identities.map((one) => (
            <Badge key={one} tone="accent">
              identifies by {one}
            </Badge>
          ))}
          {traits.map((one) => (
            <Badge key={one}>trait {one}</Badge>
          ))}
        </div>
      )}
    </div>
  );
}
