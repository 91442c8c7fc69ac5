import type { JSX } from "preact";
import { AreaField, SelectField, TextField } from "../../../ui/kit.js";
import {
  as,
  fit,
  opsOf,
  valuesOf,
  type FieldKind,
  type Op,
  type Span,
  type Test,
  type Unit,
  type Value,
} from "../rule/model.js";
import { opWords, unitWords } from "../rule/words.js";

const FORMS: Readonly<Record<Value["as"], string>> = {
  text: "text",
  number: "a number",
  boolean: "yes or no",
  null: "nothing",
  now: "from now",
  texts: "texts",
  numbers: "numbers",
};
const UNITS: readonly Unit[] = ["m", "h", "d"];

/** An operator, and what is compared with. */
export function TestFields({
  test,
  kind,
  onChange,
}: {
  readonly test: Test;
  readonly kind: FieldKind;
  readonly onChange: (test: Test) => void;
}): JSX.Element {
  const { op, value } = test;
  const forms = valuesOf(op, kind);
  const isTimed = kind === "instant" || value.as === "now";
  return (
    <>
      <SelectField
        label="Test"
        isLabelHidden
        value={op}
        options={opsOf(kind).map((one) => [one, opWords(one, isTimed ? "instant" : kind)] as const)}
        onChange={(next) => onChange(fit({ op: next as Op, value }, kind))}
      />
      {forms.length > 1 && (
        <SelectField
          label="Compared with"
          isLabelHidden
          value={value.as}
          options={forms.map((form) => [form, kind === "instant" && form === "text" ? "a time" : FORMS[form]] as const)}
          onChange={(next) => onChange({ op, value: as(next as Value["as"], value) })}
        />
      )}
      <ValueField value={value} isTime={kind === "instant"} onChange={(next) => onChange({ op, value: next })} />
    </>
  );
}

function ValueField({
  value,
  isTime,
  onChange,
}: {
  readonly value: Value;
  readonly isTime: boolean;
  readonly onChange: (value: Value) => void;
}): JSX.Element | null {
  switch (value.as) {
    case "null":
      return null;
    case "boolean":
      return (
        <SelectField
          label="Value"
          isLabelHidden
          value={value.is ? "yes" : "no"}
          options={[
            ["yes", "yes"],
            ["no", "no"],
          ]}
          onChange={(is) => onChange({ as: "boolean", is: is === "yes" })}
        />
      );
    case "now":
      return (
        <span class="span-fields">
          <SpanFields span={value} onChange={(span) => onChange({ ...value, ...span })} />
          <SelectField
            label="Before or after now"
            isLabelHidden
            value={value.isAgo ? "ago" : "from"}
            options={[
              ["ago", "ago"],
              ["from", "from now"],
            ]}
            onChange={(is) => onChange({ ...value, isAgo: is === "ago" })}
          />
        </span>
      );
    case "texts":
    case "numbers":
      return (
        <AreaField
          label="Values, one on each line"
          isLabelHidden
          rows={3}
          value={value.text}
          placeholder="one on each line"
          onInput={(text) => onChange({ ...value, text })}
        />
      );
    case "text":
    case "number":
    default:
      return (
        <TextField
          label="Value"
          isLabelHidden
          value={value.text}
          placeholder={value.as === "number" ? "0" : isTime ? "2026-01-31T12:00:00Z" : "value"}
          onInput={(text) => onChange({ ...value, text })}
        />
      );
  }
}

/** So many minutes, hours or days. */
export const SpanFields = ({
  span: { n, unit },
  onChange,
}: {
  readonly span: Span;
  readonly onChange: (span: Span) => void;
}): JSX.Element => (
  <>
    <TextField
      label="How many"
      isLabelHidden
      type="number"
      min={1}
      value={n}
      onInput={(next) => onChange({ n: next, unit })}
    />
    <SelectField
      label="Unit"
      isLabelHidden
      value={unit}
      options={UNITS.map((one) => [one, unitWords(one)] as const)}
      onChange={(next) => onChange({ n, unit: next as Unit })}
    />
  </>
);
