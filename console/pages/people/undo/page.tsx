import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { useAnswer } from "../../../api/answer.js";
import { ApiError, AwayError } from "../../../api/http.js";
import type { PageProps } from "../../../state/pages.js";
import { go } from "../../../state/router.js";
import { Bones, Button, Card, Confirm, count, Failure, LinkButton, Message, PageFrame } from "../../../ui/kit.js";
import { ChangeLink, RULES } from "../parts/evidence.js";
import { Pair } from "../parts/text.js";
import { UndoneBy } from "../parts/undone.js";
import { Ask } from "./ask.js";
import { Blank, isToForbid, NoPair } from "./blank.js";
import { AfterUnlink } from "./device.js";
import { Done } from "./done.js";
import { Held, Still } from "./held.js";
import { Pictures } from "./pictures.js";
import {
  hrefOfUndo,
  isSamePreview,
  isSameRequest,
  readRequest,
  send,
  wantedApart,
  type Preview,
  type UndoRequest,
  type Undone,
} from "./request.js";
import { What } from "./what.js";

export const Page = ({ query }: PageProps): JSX.Element => (
  <PageFrame
    title={isToForbid(query) ? "Keep two identifiers apart" : "Undo"}
    intro={
      isToForbid(query)
        ? "Forbid a pair, so that nothing may bring the two into one profile. First a preview shows what changes; nothing is written before you confirm it."
        : "Undo a merge, or another change. First a preview shows who would be who; nothing is written before you confirm it."
    }
  >
    <Asked key={query.toString()} query={query} />
  </PageFrame>
);

/** The form, and the preview of what it says. A preview of something else cannot be acted on. */
function Asked({ query }: { readonly query: URLSearchParams }): JSX.Element {
  const asked = readRequest(query);
  const [form, setForm] = useState(asked);
  const [looks, setLooks] = useState(0);
  const isChanged = asked !== null && (form === null || !isSameRequest(form, asked));
  return (
    <>
      <Ask
        query={query}
        isNew={asked === null || isChanged}
        onChange={setForm}
        onSubmit={(next) => (asked !== null && !isChanged ? setLooks(looks + 1) : go(hrefOfUndo(next)))}
      />
      {asked !== null ? (
        <Undoing key={looks} request={asked} isChanged={isChanged} />
      ) : isToForbid(query) ? (
        <NoPair />
      ) : (
        <Blank />
      )}
    </>
  );
}

/** What came of acting on a preview. */
type Acted =
  /** Something changed since. */
  | { readonly at: "seen"; readonly preview: Preview }
  /** Somebody else was first. */
  | { readonly at: "late" }
  | { readonly at: "done"; readonly preview: Preview; readonly undone: Undone };

const VERBS = { change: "Revert", identifier: "Unlink", pair: "Unlink" } as const;
const verbOf = (request: UndoRequest, preview: Preview): string =>
  request.kind === "pair" && request.isForbidden
    ? areTwo(preview)
      ? "Forbid"
      : "Unlink and forbid"
    : VERBS[request.kind];
/** Nothing is to be unlinked: the pair is only forbidden. */
const areTwo = ({ outcome }: Preview): boolean => outcome === "forbidden";

function Undoing({
  request,
  isChanged,
}: {
  readonly request: UndoRequest;
  /** The form says something else by now. */
  readonly isChanged: boolean;
}): JSX.Element {
  // The key of this component stands for the request.
  const { data: seen, error, again } = useAnswer("undo", (signal) => send(request, true, signal));
  const [acted, setActed] = useState<Acted | null>(null);
  const [isAsking, setAsking] = useState(false);
  /** An answer to the undo itself was lost: it may be done. */
  const isLost = useRef(false);
  const act = async (shown: Preview): Promise<void> => {
    const now = await send(request, true);
    if (!isSamePreview(shown, now))
      return setActed(now.outcome === "unchanged" ? { at: "late" } : { at: "seen", preview: now });
    const undone = await send(request, false).catch((failed: unknown) => {
      isLost.current ||= failed instanceof AwayError;
      throw failed;
    });
    setActed(undone.outcome === "unchanged" ? { at: "late" } : { at: "done", preview: now, undone });
  };
  // What was done stays done, whatever the form says.
  if (acted?.at === "done") return <Done request={request} preview={acted.preview} undone={acted.undone} />;
  if (acted?.at === "late")
    return (
      <Card title="This was undone already" isResult>
        <p>
          {isLost.current
            ? "By your first try, whose answer was lost, or by somebody else."
            : "In another tab, or by somebody else."}{" "}
          Nothing was changed now.
        </p>
        {request.kind === "change" && (
          <p>
            Undone by: <UndoneBy id={request.id} />
          </p>
        )}
        <p>
          <a href="#/changes">The changes</a> say who did it, and when.
        </p>
      </Card>
    );
  if (isChanged) return <Changed />;
  if (error !== null) return <Refused request={request} error={error} onRetry={again} />;
  const preview = acted?.preview ?? seen;
  if (preview === null)
    return (
      <Card title="Preview">
        <Bones lines={10} />
      </Card>
    );
  if (preview.outcome === "unchanged") return <Nothing request={request} preview={preview} />;
  return (
    <>
      {acted !== null && (
        <Message tone="warn">
          Something changed since the preview was made, so nothing was done. This is what would happen now.
        </Message>
      )}
      <Card
        title="Preview: nothing is written yet"
        isResult
        note={request.kind === "change" ? <ChangeLink id={request.id} /> : undefined}
        foot={
          <>
            <Button kind="risky" icon={areTwo(preview) ? "forbidden" : "undo"} onClick={() => setAsking(true)}>
              {verbOf(request, preview)}
            </Button>
            <LinkButton href="#/undo">Cancel</LinkButton>
          </>
        }
      >
        <div class="stack">
          {areTwo(preview) && request.kind === "pair" ? (
            <Message tone="info">
              <strong>They are two people already. Once the pair is forbidden, they stay two.</strong>
              <Pair from={request.from} to={request.to} isWhole />
            </Message>
          ) : (
            <Pictures request={request} preview={preview} />
          )}
          <Still
            path={preview.still_joined_by ?? null}
            isPartial={preview.partial}
            apart={wantedApart(request) ?? undefined}
          />
          <Stays preview={preview} />
        </div>
      </Card>
      {isAsking && (
        <Confirm
          title={`${verbOf(request, preview)}?`}
          verb={verbOf(request, preview)}
          isDanger
          onClose={() => setAsking(false)}
          act={() => act(preview)}
        >
          <What request={request} areTwo={areTwo(preview)} />
          <p>
            {!areTwo(preview) &&
              `${count(preview.profiles_before, "profile")} now, ${count(preview.profiles_after, "profile")} afterwards. `}
            {preview.profiles_after > preview.profiles_before &&
              "Each part has its former id, traits and counts again. "}
            {request.kind === "pair" && request.isForbidden
              ? "To let the two join again, allow the pair."
              : "You can undo this by reverting the change that it makes."}
          </p>
        </Confirm>
      )}
    </>
  );
}

const Changed = (): JSX.Element => (
  <Card title="The form changed: preview again" isResult>
    <p>The preview showed something else, so it is gone. Nothing was done.</p>
  </Card>
);

/** Links that would not come back. */
function Stays({ preview: { dropped = [], partial } }: { readonly preview: Preview }): JSX.Element | null {
  if (dropped.length === 0) return null;
  return (
    <Message tone="warn">
      <strong>
        {partial === true && "More than "}
        {count(dropped.length, "link")} would not come back
      </strong>
      <ul>
        {dropped.map((one, i) => (
          <li key={i}>
            {"from" in one && <Pair from={one.from} to={one.to} />}
            {RULES[one.rule]}
          </li>
        ))}
      </ul>
    </Message>
  );
}

type Joined = Pick<Preview, "still_joined_by" | "partial">;

function Refused({
  request,
  error,
  onRetry,
}: {
  readonly request: UndoRequest;
  readonly error: unknown;
  readonly onRetry: () => void;
}): JSX.Element {
  const { still_joined_by: path, partial }: Joined = error instanceof ApiError ? (error.problem as Joined) : {};
  if (request.kind === "pair" && path !== undefined)
    return (
      <>
        <Message tone="warn">
          <strong>Other links hold these two together, so the pair cannot be forbidden yet</strong>
          <Pair from={request.from} to={request.to} />
          <span>Undo those links first. After each undo you can also keep the two apart, as soon as they are.</span>
          <div>
            <Button isSmall onClick={onRetry}>
              Look again
            </Button>
          </div>
        </Message>
        <Held two={request} path={path} isPartial={partial === true} apart={wantedApart(request)!} isTold />
      </>
    );
  return (
    <Card title="There is no preview" isResult>
      <Failure error={error} onRetry={onRetry} />
    </Card>
  );
}

function Nothing({ request, preview }: { readonly request: UndoRequest; readonly preview: Preview }): JSX.Element {
  const path = preview.still_joined_by ?? [];
  if (request.kind === "pair" && path.length > 0)
    return <Held two={request} path={path} isPartial={preview.partial === true} apart={wantedApart(request)!} />;
  return (
    <Card title="There is nothing to undo" isResult>
      <div class="stack">
        <p>
          {request.kind === "change"
            ? "This change was undone already, or what it linked is no longer linked by it."
            : request.kind === "identifier"
              ? "This identifier stands alone already."
              : request.isForbidden
                ? "The two are a forbidden pair already."
                : "No link connects just these two."}
        </p>
        {request.kind === "change" && (
          <p>
            Undone by: <UndoneBy id={request.id} />
          </p>
        )}
        <Stays preview={preview} />
        {request.kind === "pair" && !request.isForbidden && <AfterUnlink two={wantedApart(request)!} />}
        <div class="row">
          <LinkButton href="#/changes">Open changes</LinkButton>
        </div>
      </div>
    </Card>
  );
}
