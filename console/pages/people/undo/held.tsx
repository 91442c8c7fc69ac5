import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { api } from "../../../api/http.js";
import { Badge, Bones, Card, count, LinkButton, Message } from "../../../ui/kit.js";
import { EvidenceLine } from "../parts/evidence.js";
import { isSame, isSameLink, keyOf, type Explained, type Identifier, type Link } from "../parts/records.js";
import { Pair, Value } from "../parts/text.js";
import { hrefOfUndo, send, type Two } from "./request.js";

/** What still holds the two together: links to be undone, or where no link is a bridge the identifiers in between. */
export function Held({
  two: { from, to },
  path,
  isPartial,
  apart,
  isTold = false,
}: {
  readonly two: Two;
  readonly path: readonly Link[];
  readonly isPartial: boolean;
  /** Whom the steps shall part in the end. */
  readonly apart: Two;
  /** The page says already that other links hold. */
  readonly isTold?: boolean;
}): JSX.Element {
  const [explained, setExplained] = useState<Explained | "unknown" | null>(null);
  useEffect(
    () =>
      void api<Explained>("POST", "/v1/identity/explain", { from, to }).then(setExplained, () =>
        setExplained("unknown"),
      ),
    [],
  );
  if (explained === null)
    return (
      <Card title="Preview">
        <Bones lines={5} />
      </Card>
    );
  const bridges = explained === "unknown" ? null : explained.bridges;
  if (bridges === null || bridges.length > 0)
    return (
      <Card title="No link connects just these two" isResult>
        <Still path={path} isPartial={isPartial} bridges={bridges ?? []} apart={apart} isTold={isTold} />
      </Card>
    );
  const isDirect = explained !== "unknown" && explained.path?.length === 1;
  return (
    <Card title="No single link holds the two together" isResult>
      <div class="stack">
        <p>Whichever link is undone, others still hold them together.</p>
        {/* With their own link gone, one of the others may be a bridge. */}
        {isDirect && <Still path={path} isPartial={isPartial} apart={apart} />}
        <TakeOut path={path} apart={apart} />
      </div>
    </Card>
  );
}

/** The links that still hold the two together, each to be undone. */
export function Still({
  path,
  isPartial = false,
  bridges = [],
  apart,
  isTold = false,
}: {
  readonly path: readonly Link[] | null;
  /** The path goes on. */
  readonly isPartial?: boolean | undefined;
  readonly bridges?: readonly Link[];
  readonly apart?: Two | undefined;
  /** The page says already that they hold. */
  readonly isTold?: boolean;
}): JSX.Element | null {
  if (path === null || path.length === 0) return null;
  return (
    <Message tone="info">
      {!isTold && <strong>Other links still connect the two</strong>}
      {apart !== undefined && <Pair from={apart.from} to={apart.to} />}
      <span>
        {bridges.length > 0
          ? "A bridge is a link whose removal parts the two: unlink one, and they are apart."
          : "Unlink a pair on this path too, or revert the change that made it."}
      </span>
      <ul class="undo-path">
        {path.map((link) => (
          <li key={`${link.change_id} ${link.from.value} ${link.to.value}`} class="stack-tight">
            <Pair from={link.from} to={link.to} />
            <EvidenceLine of={link} />
            <span class="row">
              {bridges.some((one) => isSameLink(one, link)) && <Badge tone="warn">bridge</Badge>}
              <LinkButton
                isSmall
                href={hrefOfUndo({ kind: "pair", from: link.from, to: link.to, isForbidden: false, apart })}
              >
                Preview this one
              </LinkButton>
            </span>
          </li>
        ))}
      </ul>
      {isPartial && <span>The path is long: only its beginning is shown.</span>}
    </Message>
  );
}

const TRIED_MAX = 3;

interface Candidate {
  readonly identifier: Identifier;
  /** Profiles after it was taken out, itself among them; null where that was not tried. */
  readonly parts: number | null;
}

/** Offers to unlink each identifier in between from all others: first those without which the rest falls apart. */
export function TakeOut({
  path,
  apart,
}: {
  readonly path: readonly Link[];
  readonly apart?: Two | undefined;
}): JSX.Element | null {
  const [candidates, setCandidates] = useState<readonly Candidate[] | null>(null);
  useEffect(() => void tried(betweenOf(path)).then(setCandidates), []);
  if (candidates === null) return <Bones lines={3} />;
  if (candidates.length === 0) return null;
  return (
    <div class="stack-tight">
      <p>You can unlink an identifier in between from all others. You see a preview first.</p>
      <ul class="undo-refs" aria-label="Identifiers in between">
        {candidates.map(({ identifier, parts }) => (
          <li key={keyOf(identifier)}>
            <a href={hrefOfUndo({ kind: "identifier", identifier, apart })}>
              Take {identifier.namespace} <Value text={identifier.value} /> out of this profile…
            </a>
            {parts !== null && (
              <span class="soft small">
                {parts > 2
                  ? `The rest falls into ${count(parts - 1, "profile")}.`
                  : "The two stay together without it."}
              </span>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Those that two links of the path share: all but its ends. */
const betweenOf = (path: readonly Link[]): readonly Identifier[] =>
  path.flatMap(({ from, to }) => [from, to]).filter((one, i, all) => all.findIndex((other) => isSame(one, other)) < i);

/** A dry run each for the first ones. One that leaves the rest whole parts nobody, so it comes last. */
async function tried(between: readonly Identifier[]): Promise<readonly Candidate[]> {
  const candidates = await Promise.all(
    between.map(async (identifier, i): Promise<Candidate> => {
      if (i >= TRIED_MAX) return { identifier, parts: null };
      const preview = await send({ kind: "identifier", identifier }, true).catch(() => null);
      return { identifier, parts: preview?.profiles_after ?? null };
    }),
  );
  const rank = ({ parts }: Candidate): number => (parts === null ? 1 : parts > 2 ? 0 : 2);
  return candidates.toSorted((one, other) => rank(one) - rank(other));
}
