import type { JSX } from "preact";
import { useAction, useQuery } from "../../api/hooks.js";
import { api } from "../../api/http.js";
import type { SdkSettings } from "../../api/records.js";
import { href } from "../../state/router.js";
import { useMay } from "../../state/session.js";
import { Button, Failure, Message, notify } from "../../ui/kit.js";

/** Of an event that named none, or one that is not registered, or was refused before it was read; and of identify and alias. */
export const NO_SCHEMA = "no schema";
export const KEEP_REFUSED = "Keep refused events";

const SETTINGS = "/v1/sdk/settings";
/** What can be kept: a refusal for any other reason leaves nothing behind. */
const KEPT: ReadonlySet<string> = new Set([
  "validation_failed",
  "unknown_schema",
  "payload_too_large",
  "schema_too_expensive",
]);

/** Says what becomes of refused events, with the switch where one may turn it. */
export function KeepRefused({ isLive = false }: { readonly isLive?: boolean }): JSX.Element | null {
  const settings = useQuery<SdkSettings>(SETTINGS);
  const mayEdit = useMay("admin");
  const keeping = useAction(async () => {
    const standing = await api<SdkSettings>("GET", SETTINGS);
    await api("PUT", SETTINGS, { ...standing, keep_rejects: true });
    notify("Refused events are kept from now on.");
    settings.reload();
  });
  if (settings.data === null) return null;
  if (settings.data.keep_rejects)
    return (
      <Message tone="info">
        <span>
          Refused events are kept: they are among the{" "}
          {mayEdit ? <a href="#/dead-letters">Dead letters</a> : "dead letters"}. Refused calls of identify and alias
          are not kept.
        </span>
      </Message>
    );
  return (
    <Message tone="warn">
      <div class="row-between">
        <span class="grow">
          <strong>Refused events are not kept.</strong> To see what is wrong with them, watch{" "}
          {isLive ? "this page" : <a href="#/live?show=refused">refused events live</a>} while they come in.{" "}
          {!mayEdit && (
            <>
              A key with the role admin or owner can turn on “{KEEP_REFUSED}” in the <a href="#/settings">Settings</a>.
            </>
          )}
        </span>
        {mayEdit && (
          <Button isSmall isBusy={keeping.isBusy} onClick={() => void keeping.run()}>
            {KEEP_REFUSED}
          </Button>
        )}
      </div>
      <Failure error={keeping.error} />
    </Message>
  );
}

export interface Refusals {
  readonly keyId: string | null;
  readonly schemaId: string | null;
  /** Null: whatever the reason. */
  readonly code: string | null;
}

/** What became of an event that was refused for this reason. It may have come before the setting was on. */
export function Unstored({ code, keyId }: { readonly code: string | null; readonly keyId: string }): JSX.Element {
  const settings = useQuery<SdkSettings>(SETTINGS);
  const mayRead = useMay("admin");
  if (settings.data?.keep_rejects !== true || code === null || !KEPT.has(code)) return <>not stored: it was refused</>;
  const letters = href("/dead-letters", {}, { reason: "rejected", key_id: keyId });
  return (
    <span>
      refused; kept among the {mayRead ? <a href={letters}>dead letters</a> : "dead letters"} if “{KEEP_REFUSED}” was on
      when it came
    </span>
  );
}

/** Answers where these refusals can be seen: among the dead letters if they are kept and one may see them, else in Live events. */
export function useRefusedHref(): (refusals: Refusals) => string {
  const settings = useQuery<SdkSettings>(SETTINGS);
  const mayRead = useMay("admin") && settings.data?.keep_rejects === true;
  return ({ keyId, schemaId, code }) =>
    mayRead && (code === null ? schemaId !== null || keyId === null : KEPT.has(code))
      ? href("/dead-letters", {}, { reason: "rejected", key_id: keyId, schema: schemaId })
      : href("/live", {}, { show: "refused", filter: code ?? schemaId ?? keyId });
}
