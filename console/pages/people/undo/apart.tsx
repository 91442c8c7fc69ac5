import type { JSX } from "preact";
import { useAnswer } from "../../../api/answer.js";
import { api } from "../../../api/http.js";
import { Bones, Failure, LinkButton, Message } from "../../../ui/kit.js";
import type { Explained } from "../parts/records.js";
import { Pair } from "../parts/text.js";
import { Still, TakeOut } from "./held.js";
import { hrefOfUndo, type Two } from "./request.js";

/** After an undo: leads to forbidding the pair that it was about. While links still hold the two together, says which. */
export function KeepApart({ two }: { readonly two: Two }): JSX.Element {
  const {
    data: explained,
    error,
    again,
  } = useAnswer("apart", (signal) => api<Explained>("POST", "/v1/identity/explain", two, { signal }));
  if (error !== null) return <Failure error={error} onRetry={again} />;
  if (explained === null) return <Bones lines={2} />;
  if (!explained.connected)
    return (
      <Message tone="info">
        <strong>These are two people now</strong>
        <Pair from={two.from} to={two.to} isWhole />
        <div>
          <LinkButton isSmall icon="forbidden" href={hrefOfUndo({ kind: "pair", ...two, isForbidden: true })}>
            Preview: also keep them apart
          </LinkButton>
        </div>
      </Message>
    );
  return <Joined two={two} explained={explained} />;
}

/** What is left to be undone before the pair can be forbidden. */
function Joined({
  two,
  explained: { path, bridges, partial },
}: {
  readonly two: Two;
  readonly explained: Explained;
}): JSX.Element {
  // Their own link goes together with the pair.
  if (path?.length === 1 && bridges?.length === 1)
    return (
      <Message tone="info">
        <strong>Only their own link still holds these two together</strong>
        <Pair from={two.from} to={two.to} isWhole />
        <div>
          <LinkButton isSmall href={hrefOfUndo({ kind: "pair", ...two, isForbidden: true })}>
            Preview: unlink and forbid
          </LinkButton>
        </div>
      </Message>
    );
  if (path === null)
    return (
      <Message tone="warn">
        <strong>These two are still one person</strong>
        <Pair from={two.from} to={two.to} isWhole />
        <span>The profile is too large to say which links hold them together. Its graph shows the bridges.</span>
      </Message>
    );
  return (
    <div class="stack">
      <Still path={path} isPartial={partial} bridges={bridges ?? []} apart={two} />
      {bridges?.length === 0 && <TakeOut path={path} apart={two} />}
    </div>
  );
}
