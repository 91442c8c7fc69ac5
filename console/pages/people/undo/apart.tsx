import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAnswer } from "../../../api/answer.js";
import { useAction } from "../../../api/hooks.js";
import { api } from "../../../api/http.js";
import { Bones, Button, Failure, LinkButton, Message } from "../../../ui/kit.js";
import type { Explained } from "../parts/records.js";
import { Pair } from "../parts/text.js";
import { Still, TakeOut } from "./held.js";
import { hrefOfUndo, send, type Two } from "./request.js";

/** After an undo: forbids the pair that it was about. While links still hold the two together, says which. */
export function KeepApart({ two }: { readonly two: Two }): JSX.Element {
  const {
    data: explained,
    error,
    again,
  } = useAnswer("apart", (signal) => api<Explained>("POST", "/v1/identity/explain", two, { signal }));
  const [isForbidden, setForbidden] = useState(false);
  const forbidding = useAction(async () => {
    await send({ kind: "pair", ...two, isForbidden: true }, false);
    setForbidden(true);
  });
  if (isForbidden)
    return (
      <Message tone="good">
        <strong role="status">The two are kept apart</strong>
        <Pair from={two.from} to={two.to} isWhole />
        <span>
          Nothing brings them into one profile, until the pair is allowed again under{" "}
          <a href="#/forbidden-pairs">Forbidden pairs</a>.
        </span>
      </Message>
    );
  if (error !== null) return <Failure error={error} onRetry={again} />;
  if (explained === null) return <Bones lines={2} />;
  if (!explained.connected)
    return (
      <Message tone="info">
        <strong>These two are apart now</strong>
        <Pair from={two.from} to={two.to} isWhole />
        <div>
          <Button isSmall icon="forbidden" isBusy={forbidding.isBusy} onClick={() => void forbidding.run()}>
            Also keep them apart
          </Button>
        </div>
        <Failure error={forbidding.error} onRetry={again} />
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
