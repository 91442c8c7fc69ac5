import type { JSX } from "preact";
import { usePages, useQuery } from "../../../api/hooks.js";
import type { IdentitySettings } from "../../../api/records.js";
import { Card, count, Empty, LinkButton, PagedTable, PageFrame } from "../../../ui/kit.js";
import { ProfileLink } from "../parts/evidence.js";
import { keyOf, type Identifier } from "../parts/records.js";
import { Name } from "../parts/text.js";

interface Shared extends Identifier {
  readonly profile_id: string | null;
}

const OFF = "The shared identifier limit is off";
const SET = "Set the shared identifier limit";
const COUNTED = (
  <>
    Only values of namespaces of kind “person” that have a limit of their own are counted as people: without one in{" "}
    <a href="#/namespaces">Namespaces</a>, no identifier is ever shared.
  </>
);

export function Page(): JSX.Element {
  const pages = usePages<Shared>("/v1/identity/shared-identifiers", "shared_identifiers");
  const limit = useQuery<IdentitySettings>("/v1/identity/settings").data?.shared_identifier_limit;
  const isOff = limit === null && pages.items?.length === 0;
  return (
    <PageFrame
      title="Shared identifiers"
      intro="A kiosk, a support agent’s browser, a family’s tablet: an identifier that was seen with too many people no longer links anybody."
    >
      <Card
        title="Beyond the shared identifier limit"
        note={isOff ? undefined : limitOf(limit)}
        actions={
          !isOff && (
            <LinkButton isSmall icon="settings" href="#/settings">
              {limit === null ? SET : "Change the shared identifier limit"}
            </LinkButton>
          )
        }
        isFlush
      >
        <PagedTable
          label="Shared identifiers"
          pages={pages}
          keyOf={keyOf}
          empty={
            limit === null ? (
              <Empty
                icon="shared"
                title={OFF}
                action={
                  <LinkButton kind="primary" href="#/settings">
                    {SET}
                  </LinkButton>
                }
              >
                Set how many people one identifier may be seen with. Beyond it, it stops linking them. {COUNTED}
              </Empty>
            ) : (
              <Empty icon="shared" title="No identifier is beyond the shared identifier limit">
                {COUNTED}
              </Empty>
            )
          }
          columns={[
            { name: "Identifier", fit: "wide", show: (one) => <Name of={one} isCopied /> },
            {
              name: "Profile of its own",
              show: ({ profile_id: id }) => (id === null ? <span class="soft">none</span> : <ProfileLink id={id} />),
            },
          ]}
        />
      </Card>
    </PageFrame>
  );
}

function limitOf(limit: number | null | undefined): string {
  // Not read yet: a line that holds the place.
  if (limit === undefined) return "…";
  if (limit === null) return OFF;
  return `Each of these was seen with more than ${count(limit, "person", "people")}, and is now a profile of its own`;
}
