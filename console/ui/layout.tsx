import type { ComponentChildren, JSX } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { isMissing, refusalOf } from "../api/http.js";
import { isFocusLeft } from "../state/router.js";
import { Button, LinkButton } from "./buttons.js";
import { Icon, type IconName } from "./icons.js";

export interface PageProps {
  readonly title: string;
  /** In the browser's tabs and history, where others may look on: nothing that a person is known by. The title, if it is not said. */
  readonly tab?: string;
  /** A sentence: what this page is for. */
  readonly intro?: ComponentChildren;
  readonly actions?: ComponentChildren;
  /** Of one thing: the list that it is in. */
  readonly back?: readonly [address: string, name: string];
  readonly children: ComponentChildren;
}

/** The frame of every page. Its heading takes the focus, so that a screen reader says where one is. */
export function PageFrame({ title, tab = title, intro, actions, back, children }: PageProps): JSX.Element {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${tab} · Onym`;
  }, [tab]);
  useEffect(() => {
    if (isFocusLeft()) heading.current?.focus({ preventScroll: true });
  }, []);
  return (
    <div class="page">
      <header class="page-head">
        <div>
          {back !== undefined && (
            <a class="back" href={back[0]}>
              {back[1]}
            </a>
          )}
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {intro !== undefined && <p>{intro}</p>}
        </div>
        {actions !== undefined && <div class="row">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

export interface CardProps {
  readonly title?: ComponentChildren;
  readonly note?: ComponentChildren;
  readonly actions?: ComponentChildren;
  readonly foot?: ComponentChildren;
  /** Without a margin inside: for a table. */
  readonly isFlush?: boolean;
  /** What a person waited for: its heading is announced, and takes the focus if nothing else has it. */
  readonly isResult?: boolean;
  readonly children: ComponentChildren;
}

export function Card({
  title,
  note,
  actions,
  foot,
  isFlush = false,
  isResult = false,
  children,
}: CardProps): JSX.Element {
  const id = useId();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (isResult && (document.activeElement ?? document.body) === document.body) heading.current?.focus();
    // One card may become the next.
  }, [isResult, title]);
  return (
    <section class="card" aria-labelledby={title === undefined ? undefined : id}>
      {title !== undefined && (
        <div class="card-head">
          <div role={isResult ? "status" : undefined}>
            <h2 id={id} ref={heading} tabIndex={isResult ? -1 : undefined}>
              {title}
            </h2>
            {note !== undefined && <p>{note}</p>}
          </div>
          {actions !== undefined && <div class="row">{actions}</div>}
        </div>
      )}
      <div class={`card-body${isFlush ? " flush" : ""}`}>{children}</div>
      {foot !== undefined && <div class="card-foot">{foot}</div>}
    </section>
  );
}

/** What stands where nothing is: what it means, and what to do next. */
export const Empty = ({
  icon,
  title,
  children,
  action,
}: {
  readonly icon?: IconName;
  readonly title: string;
  readonly children?: ComponentChildren;
  readonly action?: ComponentChildren;
}): JSX.Element => (
  <div class="empty">
    {icon !== undefined && <Icon name={icon} />}
    <h2>{title}</h2>
    {children !== undefined && <p>{children}</p>}
    {action !== undefined && <div class="row">{action}</div>}
  </div>
);

/** What stands on a page whose thing is not there: what is missing, why that can be, and a way back. */
export const Missing = ({
  what,
  icon,
  back: [address, name],
  children,
}: {
  /** "profile". */
  readonly what: string;
  readonly icon: IconName;
  readonly back: readonly [address: string, name: string];
  readonly children: ComponentChildren;
}): JSX.Element => (
  <Card>
    <Empty icon={icon} title={`There is no such ${what}`} action={<LinkButton href={address}>{name}</LinkButton>}>
      {children}
    </Empty>
  </Card>
);

export const Message = ({
  tone,
  children,
}: {
  readonly tone: "good" | "warn" | "bad" | "info";
  readonly children: ComponentChildren;
}): JSX.Element => (
  <div class={`message ${tone}`} role={tone === "bad" ? "alert" : undefined}>
    {children}
  </div>
);

/** What is wrong, each with its path. */
export const Errors = ({
  of,
}: {
  readonly of: readonly { readonly path: string; readonly message: string }[];
}): JSX.Element => (
  <ul>
    {of.map(({ path, message }) => (
      <li key={`${path} ${message}`}>
        {path !== "" && <code>{path}</code>} {message}
      </li>
    ))}
  </ul>
);

/** A failure, in words that help. Nothing for null. */
export function Failure({
  error,
  onRetry,
}: {
  readonly error: unknown;
  readonly onRetry?: () => void;
}): JSX.Element | null {
  if (error === null || error === undefined) return null;
  const { title, detail, errors } = refusalOf(error);
  // The detail of a refusal is often its first error, which is in the list already.
  const isListed = errors.some(
    ({ path, message }) =>
      detail.replace(/\.$/, "") === `${path === "" ? "" : `${path}: `}${message}`.replace(/\.$/, ""),
  );
  return (
    <Message tone="bad">
      <strong>{title}</strong>
      {!isListed && <span>{detail}</span>}
      {errors.length > 0 && <Errors of={errors} />}
      {onRetry !== undefined && (
        <div>
          <Button isSmall onClick={onRetry}>
            Try again
          </Button>
        </div>
      )}
    </Message>
  );
}

/** The place of what is still being read: as large as it will be, so that nothing jumps. */
export const Bones = ({ lines = 6 }: { readonly lines?: number }): JSX.Element => (
  <div class="bones" aria-busy="true" aria-label="Loading" role="status">
    {Array.from({ length: lines }, (_, i) => (
      <div key={i} class="bone" style={{ width: `${92 - ((i * 29) % 45)}%` }} />
    ))}
  </div>
);

/** What was read, or its place, or why it could not be read. */
export function Loaded<Data>({
  data,
  error,
  reload,
  lines,
  missing,
  children,
}: {
  readonly data: Data | null;
  readonly error: unknown;
  readonly reload?: () => void;
  readonly lines?: number;
  /** Instead of the refusal, where the service has no such thing. */
  readonly missing?: ComponentChildren;
  readonly children: (data: Data) => ComponentChildren;
}): JSX.Element {
  if (data !== null) return <>{children(data)}</>;
  if (missing !== undefined && isMissing(error)) return <>{missing}</>;
  if (error !== null && error !== undefined)
    return (
      <div class="card-body">
        <Failure error={error} {...(reload && { onRetry: reload })} />
      </div>
    );
  return <Bones {...(lines !== undefined && { lines })} />;
}

/** Names and what they are. */
export const Facts = ({
  facts,
}: {
  readonly facts: readonly (readonly [name: string, value: ComponentChildren])[];
}): JSX.Element => (
  <dl class="facts">
    {facts.map(([name, value]) => (
      <>
        <dt key={name}>{name}</dt>
        <dd>{value}</dd>
      </>
    ))}
  </dl>
);

export const Figure = ({
  name,
  value,
  note,
}: {
  readonly name: string;
  readonly value: ComponentChildren;
  readonly note?: ComponentChildren;
}): JSX.Element => (
  <div class="figure">
    <div class="name">{name}</div>
    <div class="value">{value}</div>
    {note !== undefined && <div class="note">{note}</div>}
  </div>
);
