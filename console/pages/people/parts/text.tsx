import type { JSX } from "preact";
import { Badge, Copy, visible } from "../../../ui/kit.js";
import type { ChangedIdentifier, Identifier, Scalar } from "./records.js";
import "../../../styles/people.css";

export { visible };

const SHOWN_MAX = 60;
/** Of an identifier's value. */
const LENGTH_MAX = 1_024;
/** The beginning of a long text, whole characters only. */
export const brief = (text: string, max = SHOWN_MAX): string => {
  const seen = visible(text);
  if (seen.length <= max) return seen;
  const letters = Array.from(seen.slice(0, max * 4));
  return letters.length <= max ? seen : `${letters.slice(0, max).join("")}…`;
};

/** As it is said in a sentence. */
export const say = ({ namespace, value }: Identifier): string => `${namespace} ${brief(value)}`;
export const sayChanged = (one: ChangedIdentifier): string => ("value" in one ? say(one) : `${one.namespace} (erased)`);

/** A sender's text in a line: as long as it is, nothing moves, and its direction is its own. */
export const Value = ({
  text,
  isWhole = false,
}: {
  readonly text: string;
  readonly isWhole?: boolean;
}): JSX.Element => (
  <bdi class={isWhole ? "sent whole" : "sent"} title={text.length > 24 ? brief(text, LENGTH_MAX) : undefined}>
    {text === "" ? <span class="soft">empty text</span> : isWhole ? visible(text) : brief(text, 160)}
  </bdi>
);

/** An identifier: what it is, and its value. */
export function Name({
  of,
  href,
  isCopied = false,
  isWhole = false,
}: {
  readonly of: ChangedIdentifier;
  readonly href?: string;
  readonly isCopied?: boolean;
  /** All of its text, in as many lines as that takes. */
  readonly isWhole?: boolean;
}): JSX.Element {
  if (!("value" in of))
    return (
      <span class="name-of">
        <span class="name-space">{of.namespace}</span>
        <Badge>erased</Badge>
      </span>
    );
  const { namespace, value } = of;
  return (
    <span class="name-of">
      <span class="name-space">{namespace}</span>
      {href === undefined ? (
        <Value text={value} isWhole={isWhole} />
      ) : (
        <a href={href}>
          <Value text={value} />
        </a>
      )}
      {isCopied && <Copy text={value} what={`the ${namespace}`} />}
    </span>
  );
}

/** Two identifiers, in either order. */
export const Pair = ({
  from,
  to,
  isWhole = false,
}: {
  readonly from: ChangedIdentifier;
  readonly to: ChangedIdentifier;
  readonly isWhole?: boolean;
}): JSX.Element => (
  <span class="pair">
    <Name of={from} isWhole={isWhole} />
    <span class="soft">and</span>
    <Name of={to} isWhole={isWhole} />
  </span>
);

/** A value of a trait: text as text, a number with separators. */
export function Worth({ value }: { readonly value: Scalar }): JSX.Element {
  if (value === null) return <span class="soft">null</span>;
  if (typeof value === "number")
    return <span class="number">{value.toLocaleString("en", { maximumFractionDigits: 20 })}</span>;
  if (typeof value === "boolean") return <span class="mono">{String(value)}</span>;
  return <Value text={value} />;
}
