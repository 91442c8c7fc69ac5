import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { usePages, useQuery } from "../../api/hooks.js";
import { api, ApiError } from "../../api/http.js";
import type { Audience, Member } from "../../api/audiences.js";
import type { PageProps } from "../../state/pages.js";
import { href, useGo } from "../../state/router.js";
import { useMay } from "../../state/session.js";
import {
  BothTimes,
  Button,
  Card,
  Confirm,
  count,
  Empty,
  Facts,
  Id,
  Json,
  LinkButton,
  Loaded,
  Message,
  notify,
  Num,
  PagedTable,
  PageFrame,
  showNumber,
  Time,
} from "../../ui/kit.js";
import { JOINS, type Part } from "./rule/model.js";
import { readRule } from "./rule/read.js";
import { words } from "./rule/words.js";
import { NoAudience, State } from "./state.js";
import { Person, useNames } from "./people.js";
import "../../styles/audiences.css";

const EVERY_MS = 3_000;
/** At first: in an audience that was just made, people come at once. */
const [SOON_EVERY_MS, SOON_MS] = [500, 5_000];
/** How often several pages are read at most because the feed went on. */
const MANY_EVERY_MS = 30_000;
const PAGE_ITEMS = 50;

export function Page({ params }: PageProps): JSX.Element {
  const path = `/v1/audiences/${encodeURIComponent(params["id"]!)}`;
  const [isNew, setNew] = useState(true);
  useEffect(() => {
    const timer = setTimeout(() => setNew(false), SOON_MS);
    return () => clearTimeout(timer);
  }, []);
  const audience = useQuery<Audience>(path, { every: isNew ? SOON_EVERY_MS : EVERY_MS });
  const all = useQuery<{ readonly audiences: readonly Audience[] }>("/v1/audiences?limit=100").data?.audiences ?? [];
  const mayEdit = useMay("editor");
  const [isDeleting, setDeleting] = useState(false);
  const nameOf = (id: string): string => all.find(({ audience_id: one }) => one === id)?.name ?? id;
  const standing = audience.data;
  return (
    <PageFrame
      title={standing?.name ?? "Audience"}
      back={["#/audiences", "All audiences"]}
      intro={standing !== null && <State of={standing} />}
      actions={
        standing !== null && (
          <>
            <LinkButton icon="feed" href={href("/feed", {}, { audience: standing.audience_id })}>
              Show in the feed
            </LinkButton>
            {mayEdit && (
              <>
                <LinkButton href={href("/audiences/:id/change", { id: standing.audience_id })}>Edit</LinkButton>
                <Button kind="risky" onClick={() => setDeleting(true)}>
                  Delete
                </Button>
              </>
            )}
          </>
        )
      }
    >
      <Loaded {...audience} lines={12} missing={<NoAudience />}>
        {(read) => (
          <>
            <div class="columns">
              <Card title="Rule">
                <Rule rule={read.rule} nameOf={nameOf} />
              </Card>
              <Card title="Now">
                <Facts
                  facts={[
                    ["Members", <Num key="n" value={read.size} />],
                    ["Version", <Num key="v" value={read.version} />],
                    [
                      "As of feed entry",
                      <span key="c">
                        {showNumber(read.as_of_seq)}{" "}
                        <span class="soft small">
                          Members and size include every change up to it. Read the feed from here on to stay up to date.
                        </span>
                      </span>,
                    ],
                    ["Created", <Time key="t" at={read.created_at} />],
                    ["Id", <Id key="i" id={read.audience_id} what="the audience id" isWhole />],
                  ]}
                />
              </Card>
            </div>
            <Members path={path} size={read.size} asOf={read.as_of_seq} isLive={read.state === "live"} />
          </>
        )}
      </Loaded>
      {isDeleting && standing !== null && <Delete of={standing} nameOf={nameOf} onClose={() => setDeleting(false)} />}
    </PageFrame>
  );
}

function Rule({ rule, nameOf }: { readonly rule: unknown; readonly nameOf: (id: string) => string }): JSX.Element {
  const text = JSON.stringify(rule);
  const group = useMemo(() => readRule(JSON.parse(text)), [text]);
  return (
    <div class="stack">
      {group.parts.length === 0 ? <p>Everybody.</p> : <RulePart part={group} nameOf={nameOf} />}
      <details>
        <summary>As JSON</summary>
        <Json value={rule} label="the rule" />
      </details>
    </div>
  );
}

function RulePart({ part, nameOf }: { readonly part: Part; readonly nameOf: (id: string) => string }): JSX.Element {
  if (part.kind !== "group") return <span class="break">{words(part, nameOf)}</span>;
  const join = JOINS.find(([one]) => one === part.join)![1];
  return (
    <div class="rule-words">
      {(part.parts.length > 1 || part.join !== "all") && <span class="soft">{join}:</span>}
      <ul>
        {part.parts.map((one) => (
          <li key={one.id}>
            <RulePart part={one} nameOf={nameOf} />
          </li>
        ))}
      </ul>
    </div>
  );
}

interface MembersProps {
  readonly path: string;
  readonly size: number;
  readonly asOf: number;
  readonly isLive: boolean;
}

/**
 * Read again when the size is another one, so that the list agrees with the number above it, and when the feed went on, because one may have come
 * and one, who may be erased, gone. Several pages are read less often then, because the feed goes on with any other audience, too.
 */
function Members({ path, size, asOf, isLive }: MembersProps): JSX.Element {
  const shown = useRef(0);
  const feed = useRef({ asOf, at: Date.now() });
  const isDue = shown.current <= PAGE_ITEMS || Date.now() - feed.current.at >= MANY_EVERY_MS;
  if (feed.current.asOf !== asOf && isDue) feed.current = { asOf, at: Date.now() };
  const stamp = [size, isLive, feed.current.asOf].join(" ");
  const members = usePages<Member>(`${path}/members?limit=${PAGE_ITEMS}`, "members", { stamp });
  shown.current = members.items?.length ?? 0;
  const names = useNames((members.items ?? []).map(({ profile_id: id }) => id));
  return (
    <Card title="Members" note="In the order of their profile ids." isFlush>
      <PagedTable
        label="Members"
        pages={members}
        keyOf={({ profile_id: id }) => id}
        empty={
          <Empty icon="person" title={isLive ? "Nobody is in it now" : "Profiles are being checked"}>
            {isLive
              ? "Whoever the rule holds for comes in by themselves, usually within a second."
              : "Members show here as they are found."}
          </Empty>
        }
        columns={[
          {
            name: "Profile",
            fit: "wide",
            show: ({ profile_id: id }) => <Person id={id} names={names} />,
          },
          { name: "Since", show: ({ since }) => <BothTimes at={since} /> },
        ]}
      />
    </Card>
  );
}

function Delete({
  of: { audience_id: id, name, size },
  nameOf,
  onClose,
}: {
  readonly of: Audience;
  readonly nameOf: (id: string) => string;
  readonly onClose: () => void;
}): JSX.Element {
  const go = useGo();
  const [users, setUsers] = useState<readonly string[]>([]);
  return (
    <Confirm
      title={`Delete the audience “${name}”?`}
      verb="Delete the audience"
      isDanger
      onClose={onClose}
      act={async () => {
        try {
          await api("DELETE", `/v1/audiences/${id}`);
        } catch (error) {
          if (error instanceof ApiError) setUsers(idsIn(error.problem));
          throw error;
        }
        notify(`The audience ${name} is deleted.`);
        go("#/audiences");
      }}
    >
      <p>
        {size === 0 ? "It has no members" : `Its ${count(size, "member")} leave it`}, and the feed reports that it was
        deleted. Profiles stay as they are.
      </p>
      {users.length > 0 && (
        <Message tone="warn">
          <strong>The rules of these audiences refer to it</strong>
          <ul>
            {users.map((one) => (
              <li key={one}>
                <a href={href("/audiences/:id", { id: one })}>
                  <bdi>{nameOf(one)}</bdi>
                </a>
              </li>
            ))}
          </ul>
        </Message>
      )}
    </Confirm>
  );
}

/** Of a refusal with `in_use`. */
function idsIn(problem: object): readonly string[] {
  const { audience_ids: ids } = problem as { readonly audience_ids?: readonly string[] };
  return ids ?? [];
}
