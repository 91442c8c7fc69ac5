import type { JSX } from "preact";
import { useWhole } from "../../../api/hooks.js";
import type { Namespace } from "../../../api/records.js";
import { SelectField, TextField } from "../../../ui/kit.js";
import type { Identifier } from "./records.js";

/** All namespaces of the workspace, those of the highest priority first; null while they are read. */
export function useNamespaces(): { readonly names: readonly string[] | null; readonly error: unknown } {
  const { data, error } = useWhole<Namespace>("/v1/namespaces?limit=100", "namespaces");
  return { names: data?.toSorted((a, b) => b.priority - a.priority).map(({ name }) => name) ?? null, error };
}

/** As the fields show it: while nobody chose a namespace, the first one, also for what was typed before they were read. */
export const wholeOf = (names: readonly string[] | null, one: Identifier): Identifier =>
  one.namespace === "" ? { ...one, namespace: names?.[0] ?? "" } : one;

/** Two fields that name one identifier. */
export function IdentifierFields({
  label,
  names,
  value,
  wrong,
  onChange,
}: {
  readonly label: string;
  readonly names: readonly string[] | null;
  readonly value: Identifier;
  readonly wrong?: string | null;
  readonly onChange: (value: Identifier) => void;
}): JSX.Element {
  const all = names ?? [];
  const shown = value.namespace === "" || all.includes(value.namespace) ? all : [value.namespace, ...all];
  return (
    <fieldset class="identifier-fields">
      <legend>
        <h2>{label}</h2>
      </legend>
      <SelectField
        label="Namespace"
        value={value.namespace}
        options={shown.map((name) => [name, name] as const)}
        onChange={(namespace) => onChange({ ...value, namespace })}
      />
      <TextField
        label="Value"
        value={value.value}
        wrong={wrong ?? null}
        onInput={(text) => onChange({ ...value, value: text })}
      />
    </fieldset>
  );
}

/** What a form of identifiers still needs; null: nothing. */
export function needsOf(names: readonly string[] | null, ...given: readonly Identifier[]): string | null {
  const empty = given.filter(({ value }) => value === "").length;
  if (empty > 0)
    return given.length === 1 ? "Enter a value" : empty === 1 ? "Enter the other value too" : "Enter both values";
  if (given.every(isGiven)) return null;
  return names === null ? "The namespaces are being read" : "Choose a namespace";
}

/** Whether both parts are there. */
export const isGiven = ({ namespace, value }: Identifier): boolean => namespace !== "" && value !== "";
