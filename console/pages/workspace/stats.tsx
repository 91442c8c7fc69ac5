import type { JSX } from "preact";
import { useQuery } from "../../api/hooks.js";
import { href } from "../../state/router.js";
import { useMay } from "../../state/session.js";
import {
  BothTimes,
  Card,
  count,
  Empty,
  exactTime,
  Figure,
  KeyId,
  LinkButton,
  Loaded,
  Num,
  PageFrame,
  showNumber,
  Table,
  Time,
} from "../../ui/kit.js";
import "../../styles/stats.css";
import { KeepRefused, NO_SCHEMA, useRefusedHref } from "../data/refused.js";

interface Tally {
  readonly accepted: number;
  readonly quarantined: number;
  readonly rejected: number;
}
interface Sender extends Tally {
  readonly key_id: string | null;
  readonly schema_id: string | null;
  readonly codes: Readonly<Record<string, number>>;
  readonly last_accepted_at: string | null;
  readonly last_rejected_at: string | null;
}
interface Stats extends Tally {
  readonly senders: readonly Sender[];
  readonly queue: { readonly waiting: number | null; readonly oldest_at: string | null };
  readonly minutes: readonly (Tally & { readonly at: string })[];
}

const EVERY_MS = 5_000;

export function Page(): JSX.Element {
  const stats = useQuery<Stats>("/v1/stats", { every: EVERY_MS });
  return (
    <PageFrame
      title="Statistics"
      intro="What was sent in the last hour, by key and schema, and how long the oldest event has waited to be added to a profile."
    >
      <Loaded {...stats} lines={12}>
        {(read) => <Shown stats={read} />}
      </Loaded>
    </PageFrame>
  );
}

function Shown({
  stats: { accepted, quarantined, rejected, senders, queue, minutes },
}: {
  readonly stats: Stats;
}): JSX.Element {
  const lastWhole = minutes.at(-2);
  const hrefOf = useRefusedHref();
  const mayRead = useMay("admin");
  const quarantinedOf = ({ key_id: keyId = null, schema_id: schemaId = null }: Partial<Sender>): string | null =>
    mayRead ? href("/dead-letters", {}, { reason: "quarantined", key_id: keyId, schema: schemaId }) : null;
  return (
    <>
      {rejected > 0 && <KeepRefused />}
      <div class="figures">
        <Figure
          name="Accepted"
          value={<Num value={accepted} />}
          note={lastWhole && `${count(lastWhole.accepted, "event")} in the last full minute`}
        />
        <Figure
          name="Quarantined"
          value={<Linked value={quarantined} to={quarantinedOf({})} />}
          note="kept as dead letters"
        />
        <Figure
          name="Refused"
          value={<Linked value={rejected} to={hrefOf({ keyId: null, schemaId: null, code: null })} />}
          note="answered with an error"
        />
        <Figure
          name="In the queue"
          value={queue.waiting === null ? "unknown" : <Num value={queue.waiting} />}
          note={
            <>
              {queue.waiting === 0 ? (
                "no event of any workspace is waiting"
              ) : queue.oldest_at === null ? (
                "of all workspaces; since when is not known"
              ) : (
                <>
                  of all workspaces; the oldest came <Time at={queue.oldest_at} />
                </>
              )}
            </>
          }
        />
      </div>
      <Card title="The last hour" note="Events in each minute.">
        <Chart minutes={minutes} />
      </Card>
      <Card title="Senders" isFlush>
        {senders.length === 0 ? (
          <Empty
            icon="stats"
            title="Nothing was sent in the last hour"
            action={
              <LinkButton kind="primary" href="#/start">
                Set up a sender
              </LinkButton>
            }
          >
            As soon as something is sent, this shows which key sends what, and what of it is refused and why.
          </Empty>
        ) : (
          <Table
            label="Senders"
            rows={senders}
            keyOf={(row) => `${row.key_id ?? ""} ${row.schema_id ?? ""}`}
            columns={[
              {
                name: "Key",
                show: (row) => (row.key_id === null ? <span class="soft">several</span> : <KeyId id={row.key_id} />),
              },
              {
                name: "Schema",
                fit: "wide",
                show: (row) =>
                  row.schema_id === null ? (
                    <span class="soft">{row.key_id === null ? "several" : NO_SCHEMA}</span>
                  ) : (
                    <a href={href("/schemas/:id", { id: row.schema_id })}>{row.schema_id}</a>
                  ),
              },
              { name: "Accepted", fit: "end", show: (row) => <Num value={row.accepted} /> },
              {
                name: "Quarantined",
                fit: "end",
                show: (row) => <Linked value={row.quarantined} to={quarantinedOf(row)} />,
              },
              {
                name: "Refused",
                fit: "end",
                show: (row) => (
                  <Linked
                    value={row.rejected}
                    to={hrefOf({ keyId: row.key_id, schemaId: row.schema_id, code: null })}
                  />
                ),
              },
              {
                name: "Error code",
                show: (row) => (
                  <Reasons
                    codes={row.codes}
                    hrefOf={(code) => hrefOf({ keyId: row.key_id, schemaId: row.schema_id, code })}
                  />
                ),
              },
              {
                name: "Last accepted",
                show: (row) =>
                  row.last_accepted_at === null ? (
                    <span class="soft">never</span>
                  ) : (
                    <BothTimes at={row.last_accepted_at} />
                  ),
              },
            ]}
          />
        )}
      </Card>
    </>
  );
}

/** A count, with a link to what it counts. */
const Linked = ({ value, to }: { readonly value: number; readonly to: string | null }): JSX.Element =>
  value === 0 || to === null ? (
    <Num value={value} />
  ) : (
    <a href={to} title="Show them">
      <Num value={value} />
    </a>
  );

function Reasons({
  codes,
  hrefOf,
}: {
  readonly codes: Sender["codes"];
  readonly hrefOf: (code: string) => string;
}): JSX.Element {
  const all = Object.entries(codes).toSorted((a, b) => b[1] - a[1]);
  if (all.length === 0) return <span class="soft">none</span>;
  return (
    <span class="row">
      {all.map(([code, times]) => (
        <a key={code} class="badge bad" href={hrefOf(code)} title="Show them">
          {`${showNumber(times)} × ${code.replaceAll("_", " ")}`}
        </a>
      ))}
    </span>
  );
}

const HEIGHT = 120;
const BAR = 10;
/** Of what there is, however few among many. */
const SEEN_MIN = 3;

/** A bar for each minute; the same numbers stand in words for who cannot see it. */
function Chart({ minutes }: { readonly minutes: Stats["minutes"] }): JSX.Element {
  const most = Math.max(1, ...minutes.map((one) => one.accepted + one.quarantined + one.rejected));
  const scale = (events: number): number =>
    events === 0 ? 0 : Math.max(SEEN_MIN, (events / most) * (HEIGHT - 2 * SEEN_MIN));
  const busy = minutes.filter((one) => one.accepted + one.quarantined + one.rejected > 0);
  return (
    <figure class="chart">
      <div class="row-between soft small" aria-hidden="true">
        <span class="row">
          <span class="chart-key good">accepted</span>
          <span class="chart-key held">quarantined</span>
          <span class="chart-key bad">refused</span>
        </span>
        {busy.length > 0 && <span>busiest minute: {count(most, "event")}</span>}
      </div>
      <div class="chart-plane">
        <svg
          viewBox={`0 0 ${minutes.length * BAR} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`Events in each of the last 60 minutes; at most ${busy.length === 0 ? 0 : most} in one, none in ${minutes.length - busy.length} of them`}
        >
          {minutes.map(({ at, accepted, quarantined, rejected }, n) => {
            const [good, held, bad] = [scale(accepted), scale(quarantined), scale(rejected)];
            return (
              <g key={at}>
                <title>{`${exactTime(at)}: ${count(accepted, "accepted event")}, ${quarantined} quarantined, ${rejected} refused`}</title>
                <rect x={n * BAR} y={0} width={BAR} height={HEIGHT} class="chart-ground" />
                <rect x={n * BAR + 1} y={HEIGHT - good} width={BAR - 2} height={good} class="chart-good" />
                <rect x={n * BAR + 1} y={HEIGHT - good - held} width={BAR - 2} height={held} class="chart-held" />
                <rect x={n * BAR + 1} y={HEIGHT - good - held - bad} width={BAR - 2} height={bad} class="chart-bad" />
              </g>
            );
          })}
        </svg>
        {busy.length === 0 && <p class="chart-empty soft">No events in the last 60 minutes</p>}
      </div>
      <figcaption class="row-between soft small">
        <span>60 minutes ago</span>
        <span>now</span>
      </figcaption>
    </figure>
  );
}
