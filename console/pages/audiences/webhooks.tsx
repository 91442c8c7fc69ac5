import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { useAction, usePages, useQuery } from "../../api/hooks.js";
import { api, refusalOf } from "../../api/http.js";
import type { Audience, NewWebhook, Webhook } from "../../api/audiences.js";
import { useSecret } from "../../state/unsaved.js";
import {
  Address,
  Ago,
  Badge,
  Button,
  Card,
  Code,
  Confirm,
  count,
  Dialog,
  Empty,
  ExactTime,
  LinkButton,
  Message,
  notify,
  PagedTable,
  PageFrame,
  showNumber,
  Time,
  type Tone,
} from "../../ui/kit.js";
import { NewWebhookDialog, Resume, RESUMES } from "./webhook-dialogs.js";
import "../../styles/audiences.css";

const EVERY_MS = 3_000;
const TONES: Readonly<Record<Webhook["state"], Tone>> = { active: "good", failing: "warn", stopped: "bad" };

type Doing = { readonly what: "delete" | "rotate" | "resume"; readonly of: Webhook };

export function Page(): JSX.Element {
  const webhooks = usePages<Webhook>("/v1/webhooks?limit=100", "webhooks", { every: EVERY_MS });
  const audiences = useQuery<{ readonly audiences: readonly Audience[] }>("/v1/audiences?limit=100").data?.audiences;
  const names = useMemo(() => new Map((audiences ?? []).map((one) => [one.audience_id, one.name])), [audiences]);
  const [isMaking, setMaking] = useState(false);
  const [made, setMade] = useState<NewWebhook | null>(null);
  const [doing, setDoing] = useState<Doing | null>(null);
  const hasNone = audiences?.length === 0;
  const create = (
    <Button kind={hasNone ? "plain" : "primary"} icon="add" onClick={() => setMaking(true)}>
      New webhook
    </Button>
  );
  return (
    <PageFrame
      title="Webhooks"
      intro="A webhook sends the feed to an address of yours: at least once, in order, and signed."
      actions={create}
    >
      <Card isFlush>
        <PagedTable
          label="Webhooks"
          pages={webhooks}
          keyOf={({ webhook_id: id }) => id}
          empty={
            <Empty
              icon="webhook"
              title="There is no webhook yet"
              {...(hasNone && {
                action: (
                  <LinkButton kind="primary" icon="add" href="#/new-audience">
                    New audience
                  </LinkButton>
                ),
              })}
            >
              A receiver of yours hears within a second who entered an audience and who left it.
              {hasNone && " There is no audience yet: make one first."}
            </Empty>
          }
          columns={[
            {
              name: "Address",
              fit: "wide",
              show: (webhook) => (
                <div class="stack-small">
                  <strong class="break">
                    <Address url={webhook.url} />
                  </strong>
                  <span class="soft small">{wantedOf(webhook, names)}</span>
                </div>
              ),
            },
            { name: "State", show: (webhook) => <State of={webhook} /> },
            { name: "Sent up to", fit: "end", show: (webhook) => <Position of={webhook} /> },
            {
              name: "Actions",
              isNameless: true,
              fit: "end",
              show: (webhook) => <Actions of={webhook} onDo={(what) => setDoing({ what, of: webhook })} />,
            },
          ]}
        />
      </Card>
      {isMaking && (
        <NewWebhookDialog
          names={names}
          onClose={() => setMaking(false)}
          onMade={(webhook) => {
            setMaking(false);
            setMade(webhook);
            webhooks.reload();
          }}
        />
      )}
      {made !== null && <Secret of={made} onClose={() => setMade(null)} />}
      {doing?.what === "resume" && (
        <Resume of={doing.of} onClose={() => setDoing(null)} onDone={() => webhooks.reload()} />
      )}
      {doing?.what === "rotate" && (
        <Confirm
          title="Create a new secret?"
          verb="Create the new secret"
          onClose={() => setDoing(null)}
          act={async () => {
            setMade(await api<NewWebhook>("POST", `/v1/webhooks/${doing.of.webhook_id}/rotate`, {}));
            webhooks.reload();
          }}
        >
          <p>For a day the current secret signs each batch too, so that the receiver can change over.</p>
        </Confirm>
      )}
      {doing?.what === "delete" && (
        <Confirm
          title="Delete this webhook?"
          verb="Delete the webhook"
          isDanger
          onClose={() => setDoing(null)}
          act={async () => {
            await api("DELETE", `/v1/webhooks/${doing.of.webhook_id}`);
            notify("The webhook is deleted.");
            webhooks.reload();
          }}
        >
          <p class="break">Nothing more is sent to {doing.of.url}. The feed itself stays.</p>
        </Confirm>
      )}
    </PageFrame>
  );
}

/** The secret of a new webhook. */
function Secret({ of: { secret }, onClose }: { readonly of: NewWebhook; readonly onClose: () => void }): JSX.Element {
  useSecret(true);
  return (
    <Dialog
      title="The secret of the webhook"
      onClose={onClose}
      foot={
        <Button kind="primary" onClick={onClose}>
          I have saved it
        </Button>
      }
    >
      <Message tone="warn">Copy it now: it is not shown again.</Message>
      <Code text={secret} wraps label="the secret" />
      <p class="soft">The receiver verifies each batch with it, as Standard Webhooks say.</p>
    </Dialog>
  );
}

function wantedOf({ audience_ids: ids, types }: Webhook, names: ReadonlyMap<string, string>): string {
  const who = ids === null ? "all audiences" : ids.map((id) => names.get(id) ?? id).join(", ");
  return types === null ? who : `${who}: ${types.join(", ").replaceAll("_", " ")}`;
}

function State({
  of: { state, last_error: error, last_error_at: at, next_try_at: next },
}: {
  readonly of: Webhook;
}): JSX.Element {
  return (
    <div class="webhook-state">
      <span class="row">
        <Badge tone={TONES[state]}>{state}</Badge>
        {state === "failing" && next !== null && (
          <span class="soft small">
            next try <Ago at={next} />, <ExactTime at={next} />
          </span>
        )}
      </span>
      {state !== "active" && error !== null && (
        <span class="small break">
          {error}
          {at !== null && (
            <span class="soft">
              {" "}
              <Time at={at} />
            </span>
          )}
        </span>
      )}
    </div>
  );
}

/** Where it stands in the feed: entries before it was made count as told. */
function Position({ of: { delivered, head } }: { readonly of: Webhook }): JSX.Element {
  const behind = head - delivered;
  return (
    <div>
      <div>
        entry {showNumber(delivered)} of {showNumber(head)}
      </div>
      <div class="soft small nowrap">{behind <= 0 ? "all told" : `${count(behind, "entry", "entries")} behind`}</div>
    </div>
  );
}

interface Tested {
  readonly status: number | null;
  readonly error: string | null;
}

function Actions({
  of: { webhook_id: id, state },
  onDo,
}: {
  readonly of: Webhook;
  readonly onDo: (what: Doing["what"]) => void;
}): JSX.Element {
  const testing = useAction(async () => {
    try {
      const { status, error } = await api<Tested>("POST", `/v1/webhooks/${id}/test`);
      if (error === null) notify(`The receiver answered ${status ?? "nothing"}.`);
      else notify(`Test: ${error}`, "bad");
    } catch (failed) {
      const { title, detail } = refusalOf(failed);
      notify(`The test could not be sent. ${title}: ${detail}`, "bad");
    }
  });
  return (
    <span class="row">
      <Button isSmall isBusy={testing.isBusy} onClick={() => void testing.run()}>
        Test
      </Button>
      <Button isSmall onClick={() => onDo("resume")}>
        {RESUMES[state]}…
      </Button>
      <Button isSmall onClick={() => onDo("rotate")}>
        New secret…
      </Button>
      <Button kind="risky" isSmall onClick={() => onDo("delete")}>
        Delete
      </Button>
    </span>
  );
}
