import type { JSX } from "preact";
import { useAction, useQuery, useWhole, type Query } from "../../api/hooks.js";
import { api } from "../../api/http.js";
import type { IdentitySettings, Namespace, SdkSettings } from "../../api/records.js";
import { useMay, useMe } from "../../state/session.js";
import { changesOf, useDraft } from "../../state/unsaved.js";
import {
  Button,
  Card,
  CheckField,
  Copy,
  Failure,
  Facts,
  Form,
  Loaded,
  Message,
  notify,
  PageFrame,
  SelectField,
  TextField,
  wrongOf,
} from "../../ui/kit.js";
import { KEEP_REFUSED } from "../data/refused.js";
import { Plan, UNPLANNED, VIOLATIONS } from "./plan.js";

const PLAN =
  "What happens to events that are not in the tracking plan, or break it. If an event has a schema of yours, it is folded only if that schema has a dataset that folds it.";
const MARKED = "A marked event has the word “marked” in Live events, and its own page says why.";
export function Page(): JSX.Element {
  const { workspace, url, key } = useMe();
  const identity = useQuery<IdentitySettings>("/v1/identity/settings");
  const sdk = useQuery<SdkSettings>("/v1/sdk/settings");
  // As high as what comes: what is below stays where it is.
  const lines = useMay("admin") ? { identity: 10, refused: 4, sdk: 21 } : { identity: 3, refused: 2, sdk: 7 };
  return (
    <PageFrame title="Settings" intro="What this workspace does with what it is sent.">
      <Card title="Workspace">
        <Facts
          facts={[
            ["Name", workspace.name],
            ["Id", <Whole key="id" text={workspace.workspace_id} what="the workspace id" />],
            ["Senders reach it at", <Whole key="url" text={url} what="the address" />],
            [
              "You are",
              `${key.role}${key.name === null || key.name === key.role ? "" : `, with the key “${key.name}”`}`,
            ],
          ]}
        />
      </Card>
      <div class="columns">
        <div class="stack">
          <Card title="Identity" note="What keeps different people apart.">
            <Loaded {...identity} lines={lines.identity}>
              {(settings) => <Identity settings={settings} query={identity} />}
            </Loaded>
          </Card>
          <Card
            title="Refused events"
            note="Events that were refused when they were sent. Calls of SDKs that cannot be read are kept in any case, up to a limit: they are quarantined."
          >
            <Loaded {...sdk} lines={lines.refused}>
              {(settings) => <Refused settings={settings} query={sdk} />}
            </Loaded>
          </Card>
        </div>
        <Card title="Events of SDKs" note={PLAN}>
          <Loaded {...sdk} lines={lines.sdk}>
            {(settings) => <Sdk settings={settings} query={sdk} />}
          </Loaded>
        </Card>
      </div>
      <Plan />
    </PageFrame>
  );
}

/** A text that is copied more often than read: all of it, in as many lines as it takes. */
const Whole = ({ text, what }: { readonly text: string; readonly what: string }): JSX.Element => (
  <span class="whole">
    <code>{text}</code>
    <Copy text={text} what={what} />
  </span>
);

/** Null while it is not known. */
function useHasLimits(): boolean | null {
  const all = useWhole<Namespace>("/v1/namespaces?limit=100", "namespaces").data;
  return all?.some(({ limit, kind }) => limit !== null && kind === "person") ?? null;
}

const ADDS = "Sending keys may add namespaces";
const bodyOf = ({ limit, adds }: { readonly limit: string; readonly adds: boolean }) => ({
  shared_identifier_limit: limit === "" ? null : Number(limit),
  sending_keys_add_namespaces: adds,
});

function Identity({
  settings,
  query,
}: {
  readonly settings: IdentitySettings;
  readonly query: Query<IdentitySettings>;
}): JSX.Element {
  const mayEdit = useMay("admin");
  const { values, base, change, settle } = useDraft({
    limit: settings.shared_identifier_limit === null ? "" : String(settings.shared_identifier_limit),
    adds: settings.sending_keys_add_namespaces,
  });
  const { limit, adds } = values;
  const hasLimits = useHasLimits();
  const storing = useAction(async () => {
    const standing = await api<IdentitySettings>("GET", "/v1/identity/settings");
    await api("PUT", "/v1/identity/settings", { ...standing, ...changesOf(bodyOf(base), bodyOf(values)) });
    settle(values);
    notify("The identity settings are saved.");
    query.reload();
  });
  if (!mayEdit)
    return (
      <Facts
        facts={[
          ["Shared identifier limit", settings.shared_identifier_limit ?? "off"],
          [ADDS, settings.sending_keys_add_namespaces ? "yes" : "no"],
        ]}
      />
    );
  return (
    <Form onSubmit={() => void storing.run()}>
      <TextField
        label="Shared identifier limit"
        type="number"
        min={1}
        value={limit}
        onInput={(next) => change({ limit: next })}
        placeholder="off"
        hint={
          <>
            An identifier that is seen with more people than this, such as the device of a kiosk, is unlinked and links
            nobody any more. Only values of namespaces of kind “person” that have a limit of their own are counted as
            people. Empty: off.
          </>
        }
        wrong={wrongOf(storing.error, "shared_identifier_limit")}
      />
      {hasLimits === false && limit !== "" && (
        <Message tone="warn">
          <span>
            The shared identifier limit has no effect until a namespace has a limit of its own. Set one in{" "}
            <a href="#/namespaces">Namespaces</a>, for example 1 for <code>user_id</code>.
          </span>
        </Message>
      )}
      <CheckField
        label={ADDS}
        hint="If an identify or alias call names a namespace that is not there yet, it is added."
        checked={adds}
        onChange={(next) => change({ adds: next })}
      />
      <Save {...storing} />
    </Form>
  );
}

/** A form of some of these settings: the others, and those that nobody edited here, are stored as they stand. */
function useSdkForm<Values extends Partial<SdkSettings>>(values: Values, reload: () => void) {
  const draft = useDraft(values);
  const storing = useAction(async () => {
    const standing = await api<SdkSettings>("GET", "/v1/sdk/settings");
    await api("PUT", "/v1/sdk/settings", { ...standing, ...changesOf(draft.base, draft.values) });
    draft.settle(draft.values);
    notify("The settings for events are saved.");
    reload();
  });
  return { ...draft, storing };
}

interface SdkProps {
  readonly settings: SdkSettings;
  readonly query: Query<SdkSettings>;
}

function Refused({ settings, query }: SdkProps): JSX.Element {
  const mayEdit = useMay("admin");
  const { keep_rejects: isKept } = settings;
  const { values, change, storing } = useSdkForm({ keep_rejects: isKept }, query.reload);
  if (!mayEdit) return <Facts facts={[[KEEP_REFUSED, isKept ? "yes" : "no"]]} />;
  return (
    <Form onSubmit={() => void storing.run()}>
      <CheckField
        label={KEEP_REFUSED}
        hint="Among the dead letters, so that a failing sender can be found and its events replayed. Refused calls of identify and alias are not kept."
        checked={values.keep_rejects}
        onChange={(checked) => change({ keep_rejects: checked })}
      />
      <Save {...storing} />
    </Form>
  );
}

const Save = ({ error, isBusy }: { readonly error: unknown; readonly isBusy: boolean }): JSX.Element => (
  <>
    <Failure error={error} />
    <div class="form-actions">
      <Button kind="primary" type="submit" isBusy={isBusy}>
        Save
      </Button>
    </div>
  </>
);

const SWITCHES = [
  [
    "collect_only_adds_traits",
    "Keys of web pages may add new traits",
    "If this is off, only names that a schema or another key has introduced are kept.",
  ],
  [
    "phone",
    "Use the phone number as an identifier",
    <>
      The trait <code>phone</code> becomes a value of the namespace <code>phone</code>: two visitors with one number
      become one profile.
    </>,
  ],
  [
    "device_id",
    "Take the device id as an identifier",
    <>
      <code>context.device.id</code> becomes a value of the namespace <code>device_id</code>: all who use one device
      become one profile, unless a limit keeps them apart.
    </>,
  ],
  [
    "advertising_id",
    "Take the advertising id as an identifier",
    <>
      <code>context.device.advertisingId</code> becomes a value of the namespace <code>advertising_id</code>: it joins
      what the apps on one device send.
    </>,
  ],
] as const;

function Sdk({ settings, query }: SdkProps): JSX.Element {
  const mayEdit = useMay("admin");
  const { keep_rejects: _, ...own } = settings;
  const { values: edited, change, storing } = useSdkForm(own, query.reload);
  if (!mayEdit)
    return (
      <Facts
        facts={[
          ["Not in the tracking plan", settings.unplanned],
          ["Against its schema", settings.violations],
          ...SWITCHES.map(([name, label]) => [label, settings[name] ? "yes" : "no"] as const),
        ]}
      />
    );
  return (
    <Form onSubmit={() => void storing.run()}>
      <SelectField
        label="An event that is not in the tracking plan"
        value={edited.unplanned}
        options={UNPLANNED}
        hint={MARKED}
        onChange={(unplanned) => change({ unplanned: unplanned as SdkSettings["unplanned"] })}
      />
      <SelectField
        label="An event that breaks its schema"
        value={edited.violations}
        options={VIOLATIONS}
        onChange={(violations) => change({ violations: violations as SdkSettings["violations"] })}
      />
      {SWITCHES.map(([name, label, hint]) => (
        <CheckField
          key={name}
          label={label}
          hint={hint}
          checked={edited[name]}
          onChange={(checked) => change({ [name]: checked })}
        />
      ))}
      <Save {...storing} />
    </Form>
  );
}
