import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { usePages } from "../../../api/hooks.js";
import { withPayloads } from "../../../api/raw.js";
import { href } from "../../../state/router.js";
import { useMay } from "../../../state/session.js";
import { BothTimes, Button, Card, Empty, Id, LinkButton, PagedTable, Sent } from "../../../ui/kit.js";
import { StatusBadge } from "../event.js";
import { ChangesTable } from "../parts/changes-table.js";
import { keyOf, type Change, type Event, type Identifier } from "../parts/records.js";
import { Name, Value } from "../parts/text.js";
import { hrefOfUndo } from "../undo/request.js";

const EVENTS_A_PAGE = 20;

/** What the person did, the latest first. */
export function Events({ of }: { readonly of: string }): JSX.Element {
  const pages = usePages<Event>(`/v1/profiles/${of}/events?limit=${EVENTS_A_PAGE}`, "events", {
    read: withPayloads,
  });
  const [opened, setOpened] = useState<string | null>(null);
  return (
    <Card isFlush>
      <PagedTable
        label="Events"
        pages={pages}
        keyOf={({ event_id: id }) => id}
        isSelected={({ event_id: id }) => id === opened}
        empty={
          <Empty icon="live" title="No events" action={<LinkButton href="#/live">Open live events</LinkButton>}>
            Identifiers were linked, and no event was folded into this profile so far: none added its data to it.
          </Empty>
        }
        columns={[
          {
            name: "When",
            show: ({ timestamp, received_at: received }) => <BothTimes at={timestamp ?? received} />,
          },
          {
            name: "Schema",
            fit: "wide",
            show: (event) => (
              <span class="stack-tight">
                <a href={href("/schemas/:id", { id: event.schema_id })}>
                  <Value text={event.schema_id} />
                </a>
                {opened === event.event_id && <Sent text={event.payload} label="the payload" />}
              </span>
            ),
          },
          { name: "State", show: (event) => <StatusBadge of={event} /> },
          {
            name: "Event",
            show: ({ event_id: id }) => <Id id={id} href={href("/events/:id", { id })} what="the event id" />,
          },
          {
            name: "Actions",
            isNameless: true,
            fit: "end",
            show: ({ event_id: id }) => (
              <Button isSmall expanded={opened === id} onClick={() => setOpened(opened === id ? null : id)}>
                Payload
              </Button>
            ),
          },
        ]}
      />
    </Card>
  );
}

export function Identifiers({ of }: { readonly of: string }): JSX.Element {
  const pages = usePages<Identifier>(`/v1/profiles/${of}/identifiers?limit=100`, "identifiers");
  const mayUndo = useMay("admin");
  return (
    <Card note="The oldest first" isFlush>
      <PagedTable
        label="Identifiers"
        pages={pages}
        keyOf={keyOf}
        empty={<Empty icon="person" title="No identifiers" />}
        columns={[
          { name: "Identifier", fit: "wide", show: (one) => <Name of={one} isCopied /> },
          ...(mayUndo
            ? [
                {
                  name: "Actions",
                  isNameless: true,
                  fit: "end" as const,
                  show: ({ namespace, value }: Identifier) => (
                    <LinkButton
                      kind="risky"
                      isSmall
                      href={hrefOfUndo({ kind: "identifier", identifier: { namespace, value } })}
                      label={`Unlink from all others: this ${namespace}`}
                    >
                      Unlink
                    </LinkButton>
                  ),
                },
              ]
            : []),
        ]}
      />
    </Card>
  );
}

export const Changes = ({ of }: { readonly of: string }): JSX.Element => (
  <Card isFlush>
    <ChangesTable
      pages={usePages<Change>(`/v1/profiles/${of}/history`, "changes")}
      empty={<Empty icon="changes" title="Nothing changed yet" />}
    />
  </Card>
);
