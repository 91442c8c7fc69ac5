import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useAnswer } from "../../api/answer.js";
import { api } from "../../api/http.js";
import type { PageProps } from "../../state/pages.js";
import { go, href } from "../../state/router.js";
import { useMay } from "../../state/session.js";
import {
  Badge,
  Bones,
  Button,
  Card,
  count,
  Empty,
  Failure,
  Form,
  LinkButton,
  Message,
  PageFrame,
} from "../../ui/kit.js";
import { IdentifierFields, isGiven, needsOf, useNamespaces, wholeOf } from "./parts/choose.js";
import { EvidenceLine, ProfileLink } from "./parts/evidence.js";
import { TakeOut } from "./undo/held.js";
import { hrefOfUndo } from "./undo/request.js";
import { isSame, isSameLink, type Explained, type Identifier, type Link, type LookedUp } from "./parts/records.js";
import { Name } from "./parts/text.js";

const NOBODY: Identifier = { namespace: "", value: "" };
const readSide = (query: URLSearchParams, side: "from" | "to"): Identifier => ({
  namespace: query.get(`${side}_namespace`) ?? "",
  value: query.get(`${side}_value`) ?? "",
});

export function Page({ query }: PageProps): JSX.Element {
  const [asked, askedTo] = [readSide(query, "from"), readSide(query, "to")];
  const [from, setFrom] = useState(asked);
  const [to, setTo] = useState(askedTo);
  const [looks, setLooks] = useState(0);
  // Also where the browser goes back, or the navigation leads here anew.
  useEffect(() => {
    setFrom(asked);
    setTo(askedTo);
  }, [query.toString()]);
  const { names, error } = useNamespaces();
  const whole = (one: Identifier): Identifier => wholeOf(names, one);
  const isAsked = isGiven(asked) && isGiven(askedTo);
  const isBlank = !isAsked && [from, to].every(({ namespace, value }) => namespace === "" && value === "");
  return (
    <PageFrame
      title="Why one person?"
      intro="The shortest path between two identifiers, and who sent each of its links. A bridge is a link whose removal parts the two, so look at bridges first."
    >
      <Card>
        <Form
          onSubmit={() => {
            const [a, b] = [whole(from), whole(to)];
            if (!isGiven(a) || !isGiven(b)) return;
            if (isSame(a, asked) && isSame(b, askedTo)) setLooks(looks + 1);
            else go(hrefOfWhy(a, b));
          }}
        >
          <div class="columns">
            <IdentifierFields label="From" names={names} value={whole(from)} onChange={setFrom} />
            <IdentifierFields label="To" names={names} value={whole(to)} onChange={setTo} />
          </div>
          <Failure error={error} />
          <div class="form-actions">
            <Button kind="primary" type="submit" icon="why" needs={needsOf(names, whole(from), whole(to))}>
              Ask why
            </Button>
            <Button
              disabled={isBlank}
              onClick={() => {
                setFrom(NOBODY);
                setTo(NOBODY);
                if (query.toString() !== "") go("#/why");
              }}
            >
              Clear
            </Button>
          </div>
        </Form>
      </Card>
      {isAsked ? (
        <Answer key={JSON.stringify([looks, asked, askedTo])} from={asked} to={askedTo} />
      ) : (
        <Card>
          <Empty
            icon="why"
            title="Enter two identifiers"
            action={<LinkButton href="#/search">Search for somebody</LinkButton>}
          >
            Such as the e-mail address and the cookie of one profile. You can also come here from a profile’s identity
            graph or from a change; then the form is filled in.
          </Empty>
        </Card>
      )}
    </PageFrame>
  );
}

export const hrefOfWhy = (from: Identifier, to: Identifier): string =>
  href(
    "/why",
    {},
    { from_namespace: from.namespace, from_value: from.value, to_namespace: to.namespace, to_value: to.value },
  );

interface Told {
  /** The profile of each side; null where nobody has it. */
  readonly profiles: readonly [string | null, string | null];
  readonly explained: Explained | null;
}

/** Looks both up first, so that an unknown one is an answer and no refusal. */
async function explain(from: Identifier, to: Identifier, signal: AbortSignal): Promise<Told> {
  const identifiers = [from, to];
  const { profiles } = await api<LookedUp>("POST", "/v1/profiles/lookup", { identifiers }, { signal, isRead: true });
  const profileOf = (one: Identifier) =>
    profiles.find(({ matched }) => matched.some((other) => isSame(one, other)))?.profile_id ?? null;
  const sides = [profileOf(from), profileOf(to)] as const;
  if (sides[0] === null || sides[1] === null || sides[0] !== sides[1]) return { profiles: sides, explained: null };
  const explained = await api<Explained>("POST", "/v1/identity/explain", { from, to }, { signal });
  return { profiles: sides, explained };
}

function Answer({ from, to }: { readonly from: Identifier; readonly to: Identifier }): JSX.Element {
  // The key of this component stands for the two.
  const { data: told, error, again } = useAnswer("why", (signal) => explain(from, to, signal));
  if (error !== null) return <Failure error={error} onRetry={again} />;
  if (told === null)
    return (
      <Card>
        <Bones lines={5} />
      </Card>
    );
  const { profiles, explained } = told;
  if (profiles[0] === null || profiles[1] === null)
    return (
      <Card>
        <Empty
          icon="search"
          title="Nobody is known by one of them"
          action={<LinkButton href="#/search">Search in all namespaces</LinkButton>}
        >
          <span class="pair center">
            {[from, to]
              .filter((_, i) => profiles[i] === null)
              .map((one) => (
                <Name key={`${one.namespace} ${one.value}`} of={one} />
              ))}
          </span>
        </Empty>
      </Card>
    );
  if (explained === null || !explained.connected)
    return (
      <Card title="They are two people" note="No link, and no chain of links, connects the two">
        <ul class="path">
          {[from, to].map((one, i) => (
            <li key={i} class="path-node row-between">
              <Name of={one} />
              <ProfileLink id={profiles[i]!} />
            </li>
          ))}
        </ul>
        <p class="soft after">
          Should they be one? <a href="#/changes?outcome=refused">Refused changes</a> say whether a rule kept them
          apart, and <a href="#/forbidden-pairs">forbidden pairs</a> whether somebody did.
        </p>
      </Card>
    );
  return <Path from={from} to={to} explained={explained} />;
}

function Path({
  from,
  to,
  explained: { path, bridges, profile_id: profileId, partial: isPartial },
}: {
  readonly from: Identifier;
  readonly to: Identifier;
  readonly explained: Explained;
}): JSX.Element {
  const mayUndo = useMay("admin");
  if (path === null)
    return (
      <Message tone="info">
        They are one person, and the profile is too large to find the path in the time that there is. Its graph shows
        the links.
      </Message>
    );
  if (path.length === 0) return <Message tone="info">This is the same identifier twice.</Message>;
  const isBridge = (link: Link) =>
    (bridges ?? []).some((one) => one.change_id === link.change_id && isSameLink(one, link));
  return (
    <Card
      title={`One person, by ${isPartial ? "more than " : ""}${count(path.length, "link")}`}
      note={profileId === null ? undefined : <ProfileLink id={profileId} />}
      actions={
        profileId !== null && (
          <LinkButton isSmall icon="person" href={href("/profiles/:id", { id: profileId }, { tab: "graph", ...from })}>
            See the graph
          </LinkButton>
        )
      }
    >
      <ol class="path" aria-label="The path">
        {stepsOf(path).map(({ at, link }, i) => (
          <>
            <li key={`n${i}`} class={`path-node${i === 0 || link === null ? " end" : ""}`}>
              <Name of={at} isCopied />
            </li>
            {link !== null && (
              <li key={`l${i}`} class={`path-link${isBridge(link) ? " bridge" : ""}`}>
                <EvidenceLine of={link} />
                <span class="row">
                  {isBridge(link) && <Badge tone="warn">bridge</Badge>}
                  {mayUndo && (
                    <LinkButton
                      kind="risky"
                      isSmall
                      href={hrefOfUndo({
                        kind: "pair",
                        from: link.from,
                        to: link.to,
                        isForbidden: false,
                        apart: { from, to },
                      })}
                      label={`Unlink step ${i + 1}`}
                    >
                      Unlink
                    </LinkButton>
                  )}
                </span>
              </li>
            )}
          </>
        ))}
      </ol>
      {isPartial && (
        <div class="after">
          <Message tone="info">
            The path is long: only its beginning is shown. Ask again from the last identifier to see how it goes on.
          </Message>
        </div>
      )}
      {mayUndo && (bridges?.length ?? 0) > 1 && (
        <div class="after">
          <Message tone="info">
            Each of the bridges parts the two. Unlink the one where they met, such as at a device that both used: what
            stands on either side of it stays together. You see a preview first.
          </Message>
        </div>
      )}
      {bridges?.length === 0 && (
        <div class="stack after">
          <Message tone="info">
            No link of this path is a bridge: without any one of them the two stay together.
          </Message>
          {mayUndo && <TakeOut path={path} apart={{ from, to }} />}
        </div>
      )}
      <p class="hidden-text">
        From {from.namespace} to {to.namespace}.
      </p>
    </Card>
  );
}

/** A link's own direction is the one in which it was said; the path goes on from where the last one ended. */
function stepsOf(path: readonly Link[]): readonly { readonly at: Identifier; readonly link: Link | null }[] {
  const [first, second] = path;
  const begins =
    second !== undefined && (isSame(first!.from, second.from) || isSame(first!.from, second.to))
      ? first!.to
      : first!.from;
  const steps: { at: Identifier; link: Link | null }[] = [];
  let at = begins;
  for (const link of path) {
    steps.push({ at, link });
    at = isSame(link.from, at) ? link.to : link.from;
  }
  return [...steps, { at, link: null }];
}
