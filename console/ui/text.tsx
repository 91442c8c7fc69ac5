import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Copy } from "./buttons.js";

export type Tone = "neutral" | "good" | "warn" | "bad" | "info" | "accent" | "violet";

export const Badge = ({
  tone = "neutral",
  children,
}: {
  readonly tone?: Tone;
  readonly children: ComponentChildren;
}): JSX.Element => <span class={`badge ${tone}`}>{children}</span>;

/** A word with what it means, at hand. */
export const Term = ({
  means,
  children,
}: {
  readonly means: string;
  readonly children: ComponentChildren;
}): JSX.Element => (
  <abbr class="term" title={means}>
    {children}
  </abbr>
);

const numbers = new Intl.NumberFormat("en");
export const showNumber = (value: number): string => numbers.format(value);
export const Num = ({ value }: { readonly value: number }): JSX.Element => (
  <span class="number">{showNumber(value)}</span>
);

/** "1 event", "2,300 events". */
export const count = (value: number, one: string, many = `${one}s`): string =>
  `${showNumber(value)} ${value === 1 ? one : many}`;

const UNITS = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
] as const;
const relative = new Intl.RelativeTimeFormat("en", { numeric: "always" });
/** With the time zone. */
const exact = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "long" });

/** "3 minutes ago", "in 2 days". */
function ago(at: number, now: number): string {
  const seconds = Math.round((at - now) / 1_000);
  if (Math.abs(seconds) < 10) return seconds < 3 ? "just now" : "in a moment";
  for (const [unit, length] of UNITS)
    if (Math.abs(seconds) >= length) return relative.format(Math.trunc(seconds / length), unit);
  return relative.format(seconds, "second");
}

export const exactTime = (at: string): string => {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? at : exact.format(date);
};

const minutes = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  year: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  timeZoneName: "short",
});
/** Day, time and time zone of the reader. */
export const minute = (at: string): string => minutes.format(new Date(at));

const TICK_MS = 10_000;

/** How long ago it was, kept true. */
function useAgo(at: string): string {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, []);
  const then = Date.parse(at);
  return Number.isNaN(then) ? exactTime(at) : ago(then, Math.max(now, Date.now()));
}

const titleOf = (at: string): string => `${exactTime(at)} (${at})`;

/** When it was. */
export const ExactTime = ({ at }: { readonly at: string }): JSX.Element => (
  <time class="nowrap" dateTime={at} title={titleOf(at)}>
    {exactTime(at)}
  </time>
);

/** How long ago it was, where the exact time is at hand otherwise. */
export const Ago = ({ at }: { readonly at: string }): JSX.Element => (
  <time class="nowrap" dateTime={at} title={titleOf(at)}>
    {useAgo(at)}
  </time>
);

/** A time that stands alone: how long ago it was, and pressed, by whatever means, when exactly. In a list, `BothTimes` spare a stop in each row. */
export function Time({ at }: { readonly at: string }): JSX.Element {
  const [isExact, setExact] = useState(false);
  const text = useAgo(at);
  return (
    <button
      type="button"
      class="time"
      aria-label={`${text}, ${exactTime(at)}`}
      title={titleOf(at)}
      onClick={() => setExact(!isExact)}
    >
      <time dateTime={at}>{isExact ? exactTime(at) : text}</time>
    </button>
  );
}

/** In a list, whose entries may all be of the same minute: how long ago, and when exactly. */
export const BothTimes = ({ at }: { readonly at: string }): JSX.Element => (
  <span class="both-times">
    <Ago at={at} />
    <span class="soft small">
      <ExactTime at={at} />
    </span>
  </span>
);

/** A name of the sender, which breaks between its words. */
export const Name = ({ of }: { readonly of: string }): JSX.Element => (
  <bdi>
    {visible(of)
      .split(/(?<=[_./-])/)
      .map((part, i) => (
        <>
          {i > 0 && <wbr />}
          {part}
        </>
      ))}
  </bdi>
);

/** An address, which breaks between its parts. */
export const Address = ({ url }: { readonly url: string }): JSX.Element => (
  <>
    {url.split(/(?<=[^:/]\/|[?&])/).map((part, i) => (
      <>
        {i > 0 && <wbr />}
        {part}
      </>
    ))}
  </>
);

/** Both ends of a long id: its beginning is its time, and its end tells it from those made in the same moment. */
export const shorten = (id: string): string => (id.length <= 18 ? id : `${id.slice(0, 8)}…${id.slice(-6)}`);

/** An id in short, with a button that copies the whole. On the page of what it names, it is whole. */
export function Id({
  id,
  href,
  what = "the id",
  isWhole = false,
}: {
  readonly id: string;
  readonly href?: string;
  readonly what?: string;
  readonly isWhole?: boolean;
}): JSX.Element {
  return (
    <span class="id">
      {isWhole ? (
        <span class="break">{visible(id)}</span>
      ) : href === undefined ? (
        <span title={id}>{shorten(id)}</span>
      ) : (
        <a href={href} title={id}>
          {shorten(id)}
        </a>
      )}
      <Copy text={id} what={what} />
    </span>
  );
}

interface CodeProps {
  readonly text: string;
  readonly wraps?: boolean;
  readonly label?: string;
}

/** Text of a machine, with a button that copies it. */
export const Code = ({ text, wraps = false, label = "code" }: CodeProps): JSX.Element => (
  <div class="code">
    <pre class={wraps ? "wrap" : ""} tabIndex={0} role="region" aria-label={label}>
      {text}
    </pre>
    <Copy text={text} what={label} />
  </div>
);

/** What cannot be seen, or turns the text around it. Joiners stay, since emoji and several scripts are written with them. */
const UNSEEN = /[\p{Cc}\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/gu;

/** A sender's text as something that can be seen: what cannot is shown by its number. */
export const visible = (text: string): string =>
  text.replace(UNSEEN, (one) => `\\u${one.codePointAt(0)!.toString(16).padStart(4, "0")}`);

/** A string, space, an empty list or object, or what begins, parts or ends something. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|\s+|\{\s*\}|\[\s*\]|[{}[\],:]/g;

/** JSON on several lines, and else as it was sent: read and written again, numbers would lose digits and a key that repeats would be gone. */
export function pretty(text: string): string {
  try {
    JSON.parse(text);
  } catch {
    return text;
  }
  let depth = 0;
  const line = (step = 0): string => {
    depth += step;
    return `\n${"  ".repeat(depth)}`;
  };
  return text.replace(TOKEN, (token) => {
    if (token.startsWith('"')) return token;
    const tight = token.replaceAll(/\s/g, "");
    if (tight === ":") return ": ";
    if (tight === ",") return `,${line()}`;
    if (tight === "{" || tight === "[") return tight + line(1);
    if (tight === "}" || tight === "]") return line(-1) + tight;
    return tight;
  });
}

/** What a sender wrote: JSON or its beginning. Nothing in it is ever markup, and it stays JSON. */
export const Sent = ({ text, wraps = false, label = "JSON" }: CodeProps): JSX.Element => (
  <Code text={pretty(text).split("\n").map(visible).join("\n")} wraps={wraps} label={label} />
);

/** The same of a value that was read. */
export const Json = ({ value, label = "JSON" }: { readonly value: unknown; readonly label?: string }): JSX.Element => (
  <Sent text={JSON.stringify(value) ?? "null"} label={label} />
);
