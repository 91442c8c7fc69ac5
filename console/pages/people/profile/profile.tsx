import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useQuery } from "../../../api/hooks.js";
import { isMissing } from "../../../api/http.js";
import type { PageProps } from "../../../state/pages.js";
import { go, href } from "../../../state/router.js";
import { useMay } from "../../../state/session.js";
import {
  Badge,
  Bones,
  Button,
  Card,
  Facts,
  Failure,
  Figure,
  Id,
  Message,
  Missing,
  Num,
  PageFrame,
  shorten,
  Tabs,
  Time,
} from "../../../ui/kit.js";
import { Erase } from "../../erasures/erase.js";
import type { Profile } from "../parts/records.js";
import { Name, visible } from "../parts/text.js";
import { GraphTab } from "../graph/tab.js";
import { Changes, Events, Identifiers } from "./lists.js";
import { SaveButton } from "./save.js";
import { Traits } from "./traits.js";

export function Page({ params, query }: PageProps): JSX.Element {
  const id = params["id"]!;
  const profile = useQuery<Profile>(`/v1/profiles/${encodeURIComponent(id)}`);
  const [isErasing, setErasing] = useState(false);
  const mayErase = useMay("admin");
  const { data, error } = profile;
  return (
    <PageFrame
      title="Profile"
      tab={data === null ? "Profile" : `Profile ${shorten(data.profile_id)}`}
      back={["#/search", "Search"]}
      intro={<Id id={data?.profile_id ?? id} what="the profile id" isWhole />}
      actions={
        data !== null && (
          <>
            <SaveButton of={data} />
            {mayErase && (
              <Button kind="risky" icon="erase" onClick={() => setErasing(true)}>
                Erase
              </Button>
            )}
          </>
        )
      }
    >
      {isMissing(error) ? (
        <Missing what="profile" icon="person" back={["#/search", "Search for somebody"]}>
          No profile has or ever had this id, or the person was erased.
        </Missing>
      ) : data === null ? (
        error === null ? (
          <Waiting />
        ) : (
          <Failure error={error} onRetry={profile.reload} />
        )
      ) : (
        <Shown profile={data} query={query} id={id} />
      )}
      {isErasing && data !== null && <Erase profileId={data.profile_id} onClose={() => setErasing(false)} />}
    </PageFrame>
  );
}

/** As large as what comes. */
const Waiting = (): JSX.Element => (
  <>
    <div class="figures">
      {["Identifiers", "Events", "First event", "Last event"].map((name) => (
        <Figure key={name} name={name} value="…" />
      ))}
    </div>
    <Card>
      <Bones lines={8} />
    </Card>
  </>
);

const KNOWN_MAX = 4;
const seen = (time: string | null) => (time === null ? <span class="soft">none yet</span> : <Time at={time} />);

function Shown({
  profile,
  query,
  id,
}: {
  readonly profile: Profile;
  readonly query: URLSearchParams;
  readonly id: string;
}): JSX.Element {
  const { identifiers, audiences, shared_identifiers: shared = [], partial: isPartial = false } = profile;
  const [namespace, value] = [query.get("namespace"), query.get("value")];
  const at = (tab: string): string => href("/profiles/:id", { id }, { tab, namespace, value });
  return (
    <>
      {profile.resolved_from !== undefined && (
        <Message tone="info">
          <span>
            This person was known by <span class="mono">{profile.resolved_from}</span> before a merge. Both ids lead
            here.
          </span>
        </Message>
      )}
      {isPartial && (
        <Message tone="warn">
          This profile is large. Traits, audiences and events are those of its first{" "}
          {identifiers.length.toLocaleString("en")} identifiers; identifiers, graph and changes are all of it.
        </Message>
      )}
      <div class="figures">
        <Figure
          name="Identifiers"
          value={
            <>
              <Num value={identifiers.length} />
              {isPartial && "+"}
            </>
          }
        />
        <Figure name="Events" value={<Num value={profile.event_count} />} />
        <Figure name="First event" value={seen(profile.first_seen)} />
        <Figure name="Last event" value={seen(profile.last_seen)} />
      </div>
      <Card>
        <Facts
          facts={[
            [
              "Known by",
              <span key="k" class="stack-tight">
                {identifiers.slice(0, KNOWN_MAX).map((one) => (
                  <Name key={`${one.namespace} ${one.value}`} of={one} isCopied />
                ))}
                {identifiers.length > KNOWN_MAX && (
                  <a class="small" href={at("identifiers")}>
                    Show all {identifiers.length.toLocaleString("en")}
                    {isPartial ? "+" : ""} identifiers
                  </a>
                )}
              </span>,
            ],
            [
              "Audiences",
              audiences.length === 0 ? (
                <span key="n" class="soft">
                  in none
                </span>
              ) : (
                <span key="a" class="row">
                  {audiences.map(({ audience_id: audienceId, name }) => (
                    <a key={audienceId} class="audience" href={href("/audiences/:id", { id: audienceId })}>
                      <Badge tone="accent">
                        <bdi class="sent">{visible(name)}</bdi>
                      </Badge>
                    </a>
                  ))}
                </span>
              ),
            ],
            ...(shared.length > 0
              ? [
                  [
                    "Shared",
                    <span key="s" class="stack-tight">
                      {shared.slice(0, KNOWN_MAX).map((one) => (
                        <Name key={`${one.namespace} ${one.value}`} of={one} />
                      ))}
                      <a class="small" href="#/shared-identifiers">
                        too many people use {shared.length === 1 ? "it" : "them"}
                      </a>
                    </span>,
                  ] as const,
                ]
              : []),
          ]}
        />
      </Card>
      <Tabs
        label="Of this profile"
        chosen={query.get("tab") ?? "traits"}
        onChoose={(next) => go(at(next), { replace: true })}
        tabs={[
          { id: "traits", name: "Traits", show: () => <Traits of={profile} /> },
          { id: "timeline", name: "Events", show: () => <Events of={profile.profile_id} /> },
          { id: "identifiers", name: "Identifiers", show: () => <Identifiers of={profile.profile_id} /> },
          {
            id: "graph",
            name: "Identity graph",
            show: () => (
              <GraphTab of={profile} sought={namespace === null || value === null ? null : { namespace, value }} />
            ),
          },
          { id: "history", name: "Changes", show: () => <Changes of={profile.profile_id} /> },
        ]}
      />
    </>
  );
}
