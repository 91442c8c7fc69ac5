import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Badge, Button, Empty, showNumber, Table, Time } from "../../../ui/kit.js";
import { Source } from "../parts/evidence.js";
import { Name } from "../parts/text.js";
import { idOf, type Outline, type OutlineLink, type OutlineNode } from "./shape.js";

/** An identifier, which shows what can be done with it. */
const Pick = ({
  of,
  isChosen,
  onChoose,
}: {
  readonly of: OutlineNode;
  readonly isChosen: boolean;
  readonly onChoose: (id: string) => void;
}): JSX.Element => (
  <button type="button" class="graph-pick" aria-pressed={isChosen} onClick={() => onChoose(of.uid)}>
    <Name of={of} />
  </button>
);

const ROWS_A_PAGE = 50;

/** The same as the picture, for whoever reads rather than looks. */
export function Links({
  outline,
  bridges,
  chosen,
  onChoose,
}: {
  readonly outline: Outline;
  readonly bridges: ReadonlyMap<string, number>;
  readonly chosen: string | null;
  readonly onChoose: (id: string) => void;
}): JSX.Element {
  const [rows, setRows] = useState(ROWS_A_PAGE);
  const byUid = useMemo(() => new Map(outline.nodes.map((node) => [node.uid, node])), [outline]);
  // Bridges first, and of them those that part most: they are what one looks for.
  const sorted = useMemo(() => {
    const sizeOf = (link: OutlineLink): number => bridges.get(idOf(link)) ?? 0;
    return outline.links.toSorted((a, b) => sizeOf(b) - sizeOf(a));
  }, [outline, bridges]);
  if (sorted.length === 0 && outline.bundles.length === 0)
    return (
      <Empty icon="why" title="No links">
        This identifier stands alone. An identify or alias call, or an event that names it with others, links it.
      </Empty>
    );
  return (
    <div class="graph-table">
      <Table
        label="Links"
        rows={sorted.slice(0, rows)}
        keyOf={idOf}
        isSelected={(link) => idOf(link) === chosen}
        columns={[
          {
            name: "Link",
            fit: "wide",
            show: (link) => (
              <span class="stack-tight">
                {[link.from, link.to].map((uid) => (
                  <Pick key={uid} of={byUid.get(uid)!} isChosen={uid === chosen} onChoose={onChoose} />
                ))}
              </span>
            ),
          },
          {
            name: "Source",
            means: "The event or call that made this link.",
            show: (link) => (
              <span class="stack-tight">
                <Source of={link} />
                <span class="soft small">
                  <Time at={link.at} />
                </span>
                {bridges.has(idOf(link)) && <Badge tone="warn">bridge</Badge>}
              </span>
            ),
          },
          {
            name: "Actions",
            isNameless: true,
            fit: "end",
            show: (link) => (
              <Button isSmall onClick={() => onChoose(idOf(link))}>
                Show
              </Button>
            ),
          },
        ]}
      />
      {outline.bundles.length > 0 && (
        <p class="soft small graph-rest">
          These are the links between those that stand alone. The list of identifiers names all others.
        </p>
      )}
      {sorted.length > rows && (
        <div class="card-foot">
          <Button isSmall onClick={() => setRows(rows + ROWS_A_PAGE)}>
            Show more
          </Button>
          <span class="soft small">
            {showNumber(rows)} of {showNumber(sorted.length)}
          </span>
        </div>
      )}
    </div>
  );
}
