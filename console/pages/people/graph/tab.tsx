import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { href } from "../../../state/router.js";
import { useMay } from "../../../state/session.js";
import { Badge, Bones, Card, count, Failure, LinkButton, Message, showNumber } from "../../../ui/kit.js";
import { EvidenceLine } from "../parts/evidence.js";
import { findStored, type Identifier, type Profile } from "../parts/records.js";
import { Name, Pair } from "../parts/text.js";
import { hrefOfUndo } from "../undo/request.js";
import { Links } from "./links.js";
import { Picture } from "./picture.js";
import { useOutline } from "./read.js";
import {
  bridgesOf,
  countsOf,
  DRAWN_MAX,
  drawOutline,
  idOf,
  type Drawn,
  type Outline,
  type OutlineLink,
  type OutlineNode,
} from "./shape.js";

/** The identifiers of a profile and what holds them together. */
export function GraphTab({ of, sought }: { readonly of: Profile; readonly sought: Identifier | null }): JSX.Element {
  const { outline, error } = useOutline(of.profile_id, sought);
  if (error !== null) return <Failure error={error} />;
  if (outline === null)
    return (
      <Card title="Identity graph" note="Reading…">
        <div class="graph-place tall">
          {of.identifiers.length > DRAWN_MAX ? <Counts of={of.identifiers} /> : <Bones lines={8} />}
        </div>
      </Card>
    );
  if (outline.partial === true)
    return (
      <Card title="Identity graph" note={count(outline.size.identifiers, "identifier")}>
        <Message tone="warn">This profile has too many links for a picture. The export of links has all.</Message>
        <Counts of={of.identifiers} />
      </Card>
    );
  return <Shown outline={outline} sought={sought} />;
}

const MEANS = "A bridge is a link whose removal parts the profile in two.";

function Shown({ outline, sought }: { readonly outline: Outline; readonly sought: Identifier | null }): JSX.Element {
  const soughtUid = sought === null ? null : (findStored(outline.nodes, sought)?.uid ?? null);
  const bridges = useMemo(() => bridgesOf(outline), [outline]);
  const drawn = useMemo(() => drawOutline(outline, bridges, soughtUid), [outline, bridges, soughtUid]);
  const [chosen, setChosen] = useState<string | null>(soughtUid);
  const left = useRef<HTMLDivElement>(null);
  const title = `${count(outline.size.identifiers, "identifier")}, ${count(outline.size.links, "link")}`;
  return (
    <Card
      title="Identity graph"
      note={
        drawn.isCollapsed
          ? `${title}. Those of one namespace are shown as a counter; the largest bridges, hubs and what you looked for stand alone. ${MEANS}`
          : bridges.size > 0
            ? `${title}. ${MEANS}`
            : title
      }
      isFlush
    >
      <div class="graph-sides">
        <div class="graph-left" ref={left}>
          <Picture drawn={drawn} label={`Identity graph: ${title}`} chosen={chosen} onChoose={setChosen} />
          <div class="graph-chosen" aria-live="polite">
            <Chosen id={chosen} drawn={drawn} outline={outline} bridges={bridges} />
          </div>
        </div>
        <Links
          outline={outline}
          bridges={bridges}
          chosen={chosen}
          onChoose={(id) => {
            setChosen(id);
            // On a phone the picture is far above.
            left.current?.scrollIntoView({ block: "nearest" });
          }}
        />
      </div>
    </Card>
  );
}

const Counts = ({ of }: { readonly of: readonly Identifier[] }): JSX.Element => (
  <ul class="counts">
    {countsOf(of)
      .slice(0, 12)
      .map(([namespace, many]) => (
        <li key={namespace}>
          <strong class="number">{showNumber(many)}</strong> <span class="break">{namespace}</span>
        </li>
      ))}
  </ul>
);

/** What was chosen, and what can be done with it. */
function Chosen({
  id,
  drawn,
  outline,
  bridges,
}: {
  readonly id: string | null;
  readonly drawn: Drawn;
  readonly outline: Outline;
  readonly bridges: ReadonlyMap<string, number>;
}): JSX.Element {
  const mayUndo = useMay("admin");
  const node = drawn.nodes.find((one) => one.id === id);
  if (node !== undefined) {
    if (node.node === null)
      return (
        <p>
          <strong>{showNumber(node.count)}</strong> identifiers of <strong class="break">{node.namespace}</strong> that
          hang together here. The list of identifiers names each.
        </p>
      );
    return <ChosenNode node={outline.nodes.find(({ uid }) => uid === id)!} mayUndo={mayUndo} />;
  }
  const link = outline.links.find((one) => idOf(one) === id);
  if (link !== undefined)
    return <ChosenLink link={link} nodes={outline.nodes} isBridge={bridges.has(idOf(link))} mayUndo={mayUndo} />;
  const bundle = drawn.links.find((one) => one.id === id);
  if (bundle !== undefined) return <p>{count(bundle.count, "link")} between these two.</p>;
  return <p class="soft">Choose a point or a line to see which event or call it comes from.</p>;
}

const ChosenNode = ({ node, mayUndo }: { readonly node: OutlineNode; readonly mayUndo: boolean }): JSX.Element => {
  const { namespace, value, links } = node;
  return (
    <div class="row-between">
      <span class="stack-tight">
        <Name of={node} isCopied />
        <span class="soft small">
          {count(links, "link")}
          {node.shared === true && ", shared by too many people"}
        </span>
      </span>
      <span class="row">
        <LinkButton isSmall icon="why" href={href("/why", {}, { from_namespace: namespace, from_value: value })}>
          Why one person?
        </LinkButton>
        {mayUndo && links > 0 && (
          <LinkButton
            kind="risky"
            isSmall
            icon="undo"
            href={hrefOfUndo({ kind: "identifier", identifier: { namespace, value } })}
          >
            Unlink from all
          </LinkButton>
        )}
      </span>
    </div>
  );
};

const ChosenLink = ({
  link,
  nodes,
  isBridge,
  mayUndo,
}: {
  readonly isBridge: boolean;
  readonly link: OutlineLink;
  readonly nodes: readonly OutlineNode[];
  readonly mayUndo: boolean;
}): JSX.Element => {
  const find = (wanted: string): OutlineNode => nodes.find(({ uid }) => uid === wanted)!;
  const [from, to] = [find(link.from), find(link.to)];
  return (
    <div class="row-between">
      <span class="stack-tight">
        <Pair from={from} to={to} />
        <EvidenceLine of={link} />
        {isBridge && <Badge tone="warn">bridge: without it these are two profiles</Badge>}
      </span>
      {mayUndo && (
        <LinkButton kind="risky" isSmall icon="undo" href={hrefOfUndo({ kind: "pair", from, to, isForbidden: false })}>
          Unlink these two
        </LinkButton>
      )}
    </div>
  );
};
