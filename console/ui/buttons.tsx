import type { ComponentChildren, JSX } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { Icon, type IconName } from "./icons.js";

export interface ButtonProps {
  readonly children?: ComponentChildren;
  /** One `primary` a view at most. `danger` takes something away; `risky` asks first whether it shall be taken away, and its dots say so. */
  readonly kind?: "plain" | "primary" | "danger" | "risky" | "quiet";
  readonly icon?: IconName;
  /** Of a button without text: what a screen reader says. */
  readonly label?: string;
  readonly isSmall?: boolean;
  readonly isBusy?: boolean;
  readonly disabled?: boolean;
  /** What is to be done before it can be pressed; it stands beside the button. Null: nothing. */
  readonly needs?: string | null;
  readonly type?: "button" | "submit";
  /** Of one that opens something: whether it is open. */
  readonly expanded?: boolean;
  readonly pressed?: boolean;
  readonly onClick?: () => void;
}

const classOf = ({ kind = "plain", isSmall, label, children }: ButtonProps): string =>
  ["button", kind, isSmall === true && "small", label !== undefined && children === undefined && "icon"]
    .filter(Boolean)
    .join(" ");

const textOf = ({ kind, children }: ButtonProps): ComponentChildren => (kind === "risky" ? <>{children}…</> : children);

export function Button(props: ButtonProps): JSX.Element {
  const {
    children,
    icon,
    label,
    isBusy = false,
    disabled = false,
    needs = null,
    type = "button",
    expanded,
    pressed,
    onClick,
  } = props;
  const id = useId();
  const button = (
    <button
      type={type}
      class={classOf(props)}
      aria-label={label}
      title={children === undefined ? label : undefined}
      aria-busy={isBusy}
      aria-expanded={expanded}
      aria-pressed={pressed}
      aria-describedby={needs === null ? undefined : id}
      disabled={disabled || needs !== null}
      onClick={isBusy ? undefined : onClick}
    >
      {icon !== undefined && <Icon name={icon} />}
      {isBusy ? "One moment…" : textOf(props)}
    </button>
  );
  // The same tree with and without: a button that is made anew would lose the focus.
  return (
    <>
      {button}
      {needs !== null && (
        <span id={id} class="needs">
          {needs}
        </span>
      )}
    </>
  );
}

export const LinkButton = (props: ButtonProps & { readonly href: string }): JSX.Element => (
  <a class={classOf(props)} href={props.href} aria-label={props.label}>
    {props.icon !== undefined && <Icon name={props.icon} />}
    {textOf(props)}
  </a>
);

const SHOWN_MS = 1_500;

/** Puts a text on the clipboard, and says so. `what` is read aloud: "Copy the profile id". */
export function Copy({ text, what = "this" }: { readonly text: string; readonly what?: string }): JSX.Element {
  const [isDone, setDone] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = async (button: HTMLElement): Promise<void> => {
    const isCopied = await write(text, button);
    setDone(isCopied);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setDone(false), SHOWN_MS);
  };
  const label = isDone ? "Copied" : `Copy ${what}`;
  return (
    <button
      type="button"
      class="copy"
      aria-label={label}
      title={label}
      onClick={(event) => void copy(event.currentTarget)}
    >
      <Icon name={isDone ? "done" : "copy"} />
    </button>
  );
}

/** Answers whether it is there. The clipboard's own interface is there over https and on this machine only, and not where a policy forbids it. */
async function write(text: string, button: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    // Nothing outside of an open dialog can be selected.
    (button.closest("dialog") ?? document.body).append(area);
    area.select();
    const isCopied = document.activeElement === area && document.execCommand("copy");
    area.remove();
    button.focus();
    return isCopied;
  }
}
