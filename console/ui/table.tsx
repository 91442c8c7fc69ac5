import type { ComponentChildren, JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Pages } from "../api/hooks.js";
import { Button } from "./buttons.js";
import { Bones, Failure } from "./layout.js";
import { Term } from "./text.js";

export interface Column<Row> {
  /** The heading; on a phone it stands before the value. */
  readonly name: string;
  readonly show: (row: Row) => ComponentChildren;
  /** `end`: a number or a button. `wide`: long text. */
  readonly fit?: "end" | "wide" | undefined;
  /** What the heading means. */
  readonly means?: string;
  /** The heading is read aloud, and not shown. */
  readonly isNameless?: boolean;
}

export interface TableProps<Row> {
  /** What a screen reader calls it. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly isSelected?: (row: Row) => boolean;
}

/** The widest window of a phone. */
const PHONE = 560;

/**
 * Makes cards of what is wider than its place. What the rows need is measured once they are there, as a table and before they are painted,
 * and is remembered while they are cards: names that come later would make a table of them under the eyes of who reads.
 */
function stackWhereTooWide(box: HTMLDivElement): () => void {
  const { classList } = box.firstElementChild!;
  let needs = 0;
  const stack = (): void => {
    if (needs <= box.clientWidth) needs = box.scrollWidth;
    classList.toggle("stacks", innerWidth <= PHONE || needs > box.clientWidth);
  };
  // A table is lower than cards: else the page would scroll meanwhile.
  box.style.minHeight = `${box.offsetHeight}px`;
  classList.remove("stacks");
  stack();
  box.style.minHeight = "";
  const observer = new ResizeObserver(stack);
  for (const one of [box, box.firstElementChild!]) observer.observe(one);
  return () => observer.disconnect();
}

/** A table, which becomes a list of small cards where it is too wide, and on a phone. */
export function Table<Row>({ label, columns, rows, keyOf, isSelected }: TableProps<Row>): JSX.Element {
  const place = useRef<HTMLDivElement | null>(null);
  const terms = columns.filter(({ means }) => means !== undefined);
  useLayoutEffect(() => stackWhereTooWide(place.current!), [rows.map(keyOf).join(" ")]);
  return (
    <div ref={place} class="table-scroll" role="region" aria-label={`${label}, as a table`} tabIndex={0}>
      <table class="table">
        <thead>
          <tr>
            {columns.map(({ name, fit, means, isNameless }) => (
              <th key={name} scope="col" class={fit}>
                {isNameless === true ? (
                  <span class="hidden-text">{name}</span>
                ) : means === undefined ? (
                  name
                ) : (
                  <Term means={means}>{name}</Term>
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)} aria-selected={isSelected?.(row)}>
              {columns.map(({ name, fit, isNameless, show }) => (
                <td key={name} class={fit} data-label={isNameless === true ? undefined : name}>
                  {show(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {terms.length > 0 && (
        <dl class="table-terms">
          {terms.map(({ name, means }) => (
            <div key={name}>
              <dt>{name}: </dt>
              <dd>{means}</dd>
            </div>
          ))}
        </dl>
      )}
    </div>
  );
}

/** A list of `/v1` as a table: its place while it loads, what to do where it is empty, and the next page. */
export function PagedTable<Row>({
  pages,
  empty,
  lines = 6,
  ...table
}: Omit<TableProps<Row>, "rows"> & {
  readonly pages: Pages<Row>;
  readonly empty: ComponentChildren;
  readonly lines?: number;
}): JSX.Element {
  const { items, error, isAwaited, more, reload } = pages;
  if (items === null)
    return error === null ? (
      <Bones lines={lines} />
    ) : (
      <div class="card-body">
        <Failure error={error} onRetry={reload} />
      </div>
    );
  return (
    <>
      {items.length === 0 ? empty : <Table {...table} rows={items} />}
      {error !== null && (
        <div class="card-body">
          <Failure error={error} onRetry={reload} />
        </div>
      )}
      {more !== null && (
        <div class="card-foot">
          <Button isSmall isBusy={isAwaited} onClick={more}>
            Show more
          </Button>
        </div>
      )}
    </>
  );
}

export interface Tab {
  readonly id: string;
  readonly name: string;
  readonly show: () => ComponentChildren;
}

/** Arrow keys move between the tabs, as everywhere. `chosen` and `onChoose` keep the choice elsewhere, as in the address. */
export function Tabs({
  label,
  tabs,
  chosen: given,
  onChoose,
}: {
  readonly label: string;
  readonly tabs: readonly Tab[];
  readonly chosen?: string;
  readonly onChoose?: (id: string) => void;
}): JSX.Element {
  const [own, setOwn] = useState(tabs[0]?.id ?? "");
  const id = given ?? own;
  const index = Math.max(
    0,
    tabs.findIndex((tab) => tab.id === id),
  );
  const choose = (next: string): void => (onChoose ?? setOwn)(next);
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const next = tabs[(index + step + tabs.length) % tabs.length]!;
    choose(next.id);
    document.getElementById(`tab-${next.id}`)?.focus();
  };
  return (
    <div class="stack">
      <div class="tabs" role="tablist" aria-label={label} onKeyDown={onKeyDown}>
        {tabs.map((tab, i) => (
          <button
            key={tab.id}
            type="button"
            role="tab"
            id={`tab-${tab.id}`}
            aria-selected={i === index}
            aria-controls={`panel-${tab.id}`}
            tabIndex={i === index ? 0 : -1}
            onClick={() => choose(tab.id)}
          >
            {tab.name}
          </button>
        ))}
      </div>
      <div
        role="tabpanel"
        class="stack"
        id={`panel-${tabs[index]?.id ?? ""}`}
        aria-labelledby={`tab-${tabs[index]?.id ?? ""}`}
      >
        {tabs[index]?.show()}
      </div>
    </div>
  );
}
