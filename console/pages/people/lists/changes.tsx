import type { JSX } from "preact";
import { usePages } from "../../../api/hooks.js";
import { queryOf } from "../../../api/http.js";
import type { PageProps } from "../../../state/pages.js";
import { go, href } from "../../../state/router.js";
import { Card, Empty, LinkButton, PageFrame, SelectField } from "../../../ui/kit.js";
import { ChangesTable } from "../parts/changes-table.js";
import { OUTCOMES } from "../parts/evidence.js";
import type { Change, Outcome } from "../parts/records.js";

const FILTERS = [
  ["", "Everything"],
  ...Object.entries(OUTCOMES).map(([outcome, { means }]) => [outcome, `${outcome}: ${means}`] as const),
] as const;

export function Page({ query }: PageProps): JSX.Element {
  const asked = query.get("outcome") ?? "";
  const outcome = asked in OUTCOMES ? (asked as Outcome) : "";
  const pages = usePages<Change>(`/v1/changes${queryOf({ outcome })}`, "changes");
  return (
    <PageFrame
      title="Changes"
      intro="Every merge, unlink and other change of identities, newest first, including those that a rule refused."
    >
      <div class="toolbar">
        <SelectField
          label="Outcome"
          value={outcome}
          options={FILTERS}
          onChange={(next) => go(href("/changes", {}, { outcome: next }), { replace: true })}
        />
      </div>
      <Card isFlush>
        <ChangesTable
          pages={pages}
          empty={
            outcome === "" ? (
              <Empty
                icon="changes"
                title="Nobody is linked yet"
                action={
                  <LinkButton kind="primary" href="#/start">
                    Set up a sender
                  </LinkButton>
                }
              >
                A change is recorded when an event, an identify or an alias call links identifiers.
              </Empty>
            ) : (
              <Empty
                icon="changes"
                title={`No change of the outcome ${outcome}`}
                action={<LinkButton href="#/changes">Show all changes</LinkButton>}
              />
            )
          }
        />
      </Card>
    </PageFrame>
  );
}
