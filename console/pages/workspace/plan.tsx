import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useQuery } from "../../api/hooks.js";
import type { SdkSettings } from "../../api/records.js";
import { href } from "../../state/router.js";
import { Button, Card, Empty, Loaded, showNumber, Table, visible } from "../../ui/kit.js";

export const UNPLANNED = [
  ["accept", "accept it"],
  ["mark", "accept it, and mark it"],
  ["quarantine", "quarantine it"],
] as const;
export const VIOLATIONS = [
  ["mark", "accept it, and mark it"],
  ["omit", "accept it, and leave out of the profile what is wrong"],
  ["quarantine", "quarantine it"],
] as const;

/** An event of the plan. Null: the settings decide. */
interface Planned {
  readonly schema_id: string | null;
  readonly unplanned: SdkSettings["unplanned"] | null;
  readonly violations: SdkSettings["violations"] | null;
}
interface SdkPlan {
  readonly events: Readonly<Record<string, Planned>>;
}

const ROWS_A_PAGE = 20;
const PUT = <code class="unbroken">PUT /v1/sdk/plan</code>;

/** The events that SDKs are expected to send. It is set over the API alone. */
export function Plan(): JSX.Element {
  const plan = useQuery<SdkPlan>("/v1/sdk/plan");
  return (
    <Card
      title="Tracking plan"
      note={
        <>
          Which schema the events of each name must match. Set it through the <a href="/docs">API</a>, with {PUT}.
        </>
      }
      isFlush
    >
      <Loaded {...plan} lines={3}>
        {({ events }) => <Events of={events} />}
      </Loaded>
    </Card>
  );
}

function Events({ of }: { readonly of: SdkPlan["events"] }): JSX.Element {
  const [shown, setShown] = useState(ROWS_A_PAGE);
  const all = Object.entries(of).toSorted(([a], [b]) => a.localeCompare(b));
  if (all.length === 0)
    return (
      <Empty icon="schema" title="There is no tracking plan">
        A plan names the events that your SDKs send, such as “Order Completed”, and says which{" "}
        <a href="#/schemas">schema</a> each of them has. Until there is one, each of them counts as not in the plan. An
        admin key sets it with {PUT}.
      </Empty>
    );
  return (
    <>
      <Table
        label="Tracking plan"
        rows={all.slice(0, shown)}
        keyOf={([name]) => name}
        columns={[
          {
            name: "Event",
            fit: "wide",
            show: ([name]) => (
              <bdi class="name-lines" title={name}>
                {visible(name)}
              </bdi>
            ),
          },
          {
            name: "Schema",
            fit: "wide",
            show: ([, { schema_id: id }]) =>
              id === null ? (
                <span class="soft">none yet: not in the plan so far</span>
              ) : (
                <a href={href("/schemas/:id", { id })}>{id}</a>
              ),
          },
          {
            name: "If it does not match",
            means: "What happens to an event that breaks its schema, or has none yet.",
            show: ([, planned]) => policyOf(planned) ?? <span class="soft">as set above</span>,
          },
        ]}
      />
      {all.length > shown && (
        <div class="card-foot">
          <Button isSmall onClick={() => setShown(shown + ROWS_A_PAGE)}>
            Show more
          </Button>
          <span class="soft small">
            {showNumber(shown)} of {showNumber(all.length)}
          </span>
        </div>
      )}
    </>
  );
}

/** Null: the settings decide. */
function policyOf({ schema_id: id, unplanned, violations }: Planned): string | null {
  const [named, policies] = id === null ? [unplanned, UNPLANNED] : [violations, VIOLATIONS];
  return policies.find(([name]) => name === named)?.[1] ?? null;
}
