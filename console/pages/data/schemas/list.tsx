import type { JSX } from "preact";
import { usePages } from "../../../api/hooks.js";
import type { Schema } from "../../../api/records.js";
import { href } from "../../../state/router.js";
import { useMay } from "../../../state/session.js";
import { Badge, BothTimes, Card, count, Empty, LinkButton, Num, PagedTable, PageFrame } from "../../../ui/kit.js";
import { API_EVENTS, SDK_EVENTS } from "../sdk-events.js";
import { annotationsOf } from "./annotations.js";

export function Page(): JSX.Element {
  const schemas = usePages<Schema>("/v1/schemas", "schemas");
  const mayEdit = useMay("admin");
  const create = (
    <LinkButton kind="primary" icon="add" href="#/new-schema">
      New schema
    </LinkButton>
  );
  return (
    <PageFrame
      title="Schemas"
      intro="What your events look like, which of their fields identify a person, and which become traits."
      actions={mayEdit && create}
    >
      <Card isFlush>
        <PagedTable
          label="Schemas"
          pages={schemas}
          keyOf={({ schema_id: id }) => id}
          empty={
            <Empty
              icon="schema"
              title="There is no schema yet"
              action={<LinkButton href="#/start">Set up a sender</LinkButton>}
            >
              A schema says in JSON Schema what an event of yours looks like. {API_EVENTS} {SDK_EVENTS}
            </Empty>
          }
          columns={[
            {
              name: "Schema",
              fit: "wide",
              show: ({ schema_id: id }) => <a href={href("/schemas/:id", { id })}>{id}</a>,
            },
            { name: "Version", fit: "end", show: ({ version }) => <Num value={version} /> },
            {
              name: "Identifies by",
              means: "The namespaces in which its events name a person, and how many traits they set.",
              show: ({ schema }) => {
                const { identities, traits } = annotationsOf(schema);
                return (
                  <span class="row">
                    {identities.map((one) => (
                      <Badge key={one} tone="accent">
                        {one}
                      </Badge>
                    ))}
                    {traits.length > 0 && <span class="soft small">{count(traits.length, "trait")}</span>}
                  </span>
                );
              },
            },
            {
              name: "Compatibility",
              show: ({ compatibility }) => compatibility,
            },
            { name: "Last change", show: ({ created_at: at }) => <BothTimes at={at} /> },
          ]}
        />
      </Card>
    </PageFrame>
  );
}
