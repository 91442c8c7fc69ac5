import type { ComponentChildren, JSX } from "preact";
import { useId } from "preact/hooks";
import { ApiError } from "../api/http.js";

/** What the service says behind the path of a field. */
const PREDICATE = /^(is|must|does|exceeds|would|may|has|needs|was) /;

/** What the service said about one field of a form; null: nothing. */
export function wrongOf(error: unknown, path: string): string | null {
  if (!(error instanceof ApiError)) return null;
  const message = error.problem.errors?.find((item) => item.path === path)?.message ?? null;
  return message !== null && PREDICATE.test(message) ? `This ${message}` : message;
}

interface FieldProps {
  readonly label: string;
  readonly hint?: ComponentChildren;
  /** Why the value is refused. */
  readonly wrong?: string | null;
  /** Read aloud, and not shown. */
  readonly isLabelHidden?: boolean;
}

interface Ids {
  readonly id: string;
  readonly "aria-describedby": string | undefined;
  readonly "aria-invalid": boolean | undefined;
}

function Field({
  label,
  hint,
  wrong,
  isLabelHidden = false,
  className = "",
  control,
}: FieldProps & { readonly className?: string; readonly control: (ids: Ids) => ComponentChildren }): JSX.Element {
  const id = useId();
  const described = [hint !== undefined && `${id}-hint`, (wrong ?? null) !== null && `${id}-wrong`]
    .filter(Boolean)
    .join(" ");
  return (
    <div class={`field ${className}`}>
      <label htmlFor={id} class={isLabelHidden ? "hidden-text" : ""}>
        {label}
      </label>
      {control({
        id,
        "aria-describedby": described === "" ? undefined : described,
        "aria-invalid": (wrong ?? null) === null ? undefined : true,
      })}
      {hint !== undefined && (
        <span class="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      {(wrong ?? null) !== null && (
        <span class="wrong" id={`${id}-wrong`}>
          {wrong}
        </span>
      )}
    </div>
  );
}

export interface TextFieldProps extends FieldProps {
  readonly value: string;
  readonly onInput: (value: string) => void;
  /** The focus went elsewhere. */
  readonly onLeave?: () => void;
  readonly type?: "text" | "search" | "password" | "number" | "url" | "datetime-local";
  readonly placeholder?: string;
  readonly autocomplete?: string;
  readonly required?: boolean;
  readonly min?: number;
  readonly max?: number;
  readonly list?: readonly string[];
}

/** The attributes of an input are typed by its type, which is known only when it is drawn. */
const typeOf = (type: string): { readonly type: "text" } => ({ type }) as { readonly type: "text" };

export function TextField(props: TextFieldProps): JSX.Element {
  const { value, onInput, type = "text", placeholder, autocomplete = "off", required, min, max, list, onLeave } = props;
  const listId = useId();
  return (
    <Field
      {...props}
      className={type === "search" ? "search" : ""}
      control={(ids) => (
        <>
          <input
            {...ids}
            class="input"
            {...typeOf(type)}
            value={value}
            placeholder={placeholder}
            autoComplete={autocomplete}
            spellcheck={false}
            required={required}
            min={min}
            max={max}
            list={list === undefined ? undefined : listId}
            onInput={(event) => onInput(event.currentTarget.value)}
            onBlur={onLeave}
          />
          {list !== undefined && (
            <datalist id={listId}>
              {list.map((one) => (
                <option key={one} value={one} />
              ))}
            </datalist>
          )}
        </>
      )}
    />
  );
}

export interface AreaFieldProps extends FieldProps {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly rows?: number;
  readonly placeholder?: string;
  /** JSON or the like. */
  readonly isCode?: boolean;
}

export const AreaField = (props: AreaFieldProps): JSX.Element => (
  <Field
    {...props}
    control={(ids) => (
      <textarea
        {...ids}
        class={`input${props.isCode === true ? " code" : ""}`}
        rows={props.rows ?? 8}
        value={props.value}
        placeholder={props.placeholder}
        spellcheck={false}
        onInput={(event) => props.onInput(event.currentTarget.value)}
      />
    )}
  />
);

export interface SelectFieldProps extends FieldProps {
  readonly value: string;
  readonly options: readonly (readonly [value: string, name: string])[];
  readonly onChange: (value: string) => void;
}

export const SelectField = (props: SelectFieldProps): JSX.Element => (
  <Field
    {...props}
    control={(ids) => (
      <select
        {...ids}
        class="input"
        value={props.value}
        onChange={(event) => props.onChange(event.currentTarget.value)}
      >
        {props.options.map(([value, name]) => (
          <option key={value} value={value} selected={value === props.value}>
            {name}
          </option>
        ))}
      </select>
    )}
  />
);

export const CheckField = ({
  label,
  hint,
  checked,
  onChange,
}: {
  readonly label: ComponentChildren;
  readonly hint?: ComponentChildren;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
}): JSX.Element => (
  <label class="check">
    <input type="checkbox" checked={checked} onChange={(event) => onChange(event.currentTarget.checked)} />
    <span>
      {label}
      {hint !== undefined && <span class="hint">{hint}</span>}
    </span>
  </label>
);

/** What is typed there is no number, and the value is empty, which would mean that nothing is set. */
const isNoNumber = (one: Element): one is HTMLInputElement => one instanceof HTMLInputElement && one.validity.badInput;

/** A form that is sent with Enter too, and never by the browser itself. */
export const Form = ({
  onSubmit,
  children,
}: {
  readonly onSubmit: () => void;
  readonly children: ComponentChildren;
}): JSX.Element => (
  <form
    class="stack"
    noValidate
    onSubmit={(event) => {
      event.preventDefault();
      const wrong = [...event.currentTarget.elements].find(isNoNumber);
      if (wrong === undefined) onSubmit();
      else wrong.reportValidity();
    }}
  >
    {children}
  </form>
);
