import type { ComponentChildren, JSX } from "preact";
import { useAction, useQuery, useWhole } from "../../api/hooks.js";
import { api } from "../../api/http.js";
import type { IdentitySettings, Namespace } from "../../api/records.js";
import { useMay } from "../../state/session.js";
import { Badge, Button, count, Failure } from "../../ui/kit.js";

const SETTINGS = "/v1/identity/settings";

export interface ApartState {
  readonly isDone: boolean;
  readonly loginLimit: number | null | undefined;
  readonly sharedLimit: number | null | undefined;
  /** Whether the shared identifier limit counts any namespace's values. Null while it is not known. */
  readonly hasLimits: boolean | null;
  readonly reload: () => void;
  readonly error: unknown;
}

/** How the two settings that keep different people apart stand. */
export function useApart(): ApartState {
  const user = useQuery<Namespace>("/v1/namespaces/user_id");
  const all = useWhole<Namespace>("/v1/namespaces?limit=100", "namespaces");
  const settings = useQuery<IdentitySettings>(SETTINGS);
  const [loginLimit, sharedLimit] = [user.data?.limit, settings.data?.shared_identifier_limit];
  return {
    // What is set for user_id is a limit before the list is read again.
    hasLimits:
      typeof loginLimit === "number" ||
      (all.data?.some(({ limit, kind }) => limit !== null && kind === "person") ?? null),
    isDone: typeof loginLimit === "number" && typeof sharedLimit === "number",
    loginLimit,
    sharedLimit,
    reload: () => {
      user.reload();
      all.reload();
      settings.reload();
    },
    error: user.error ?? all.error ?? settings.error,
  };
}

const SHARED_LIMIT = 5;
const LOGIN = "One login per profile";

export function Apart({ apart }: { readonly apart: ApartState }): JSX.Element {
  const mayEdit = useMay("admin");
  const { loginLimit, sharedLimit, hasLimits, reload } = apart;
  const limiting = useAction(async () => {
    await api("PUT", "/v1/namespaces/user_id", { limit: 1 });
    reload();
  });
  const sharing = useAction(async () => {
    const standing = await api<IdentitySettings>("GET", SETTINGS);
    await api("PUT", SETTINGS, { ...standing, shared_identifier_limit: SHARED_LIMIT });
    reload();
  });
  return (
    <div class="stack">
      <Failure error={apart.error ?? limiting.error ?? sharing.error} />
      <Choice
        title={LOGIN}
        text={
          <>
            A profile never gets {(loginLimit ?? 1) === 1 ? "a second" : `more than ${loginLimit} of`}{" "}
            <code>user_id</code>, even if two people share a device.
          </>
        }
        state={loginLimit}
        shown={(limit) => `at most ${limit}`}
        mayEdit={mayEdit}
        isBusy={limiting.isBusy}
        onTurnOn={() => void limiting.run()}
        more="#/namespaces"
      />
      <Choice
        title="Shared identifier limit: a shared device is not a person"
        text={
          <>
            An identifier that is seen with more than {count(sharedLimit ?? SHARED_LIMIT, "person", "people")}, such as
            the device of a kiosk, is unlinked and links nobody any more. Only values of namespaces of kind “person”
            that have a limit of their own are counted as people.
          </>
        }
        state={sharedLimit}
        shown={(limit) => `more than ${count(limit, "person", "people")}`}
        idle={
          hasLimits === false && (
            <>
              Has no effect until a namespace has a limit of its own: turn on “{LOGIN}”, or set a limit in{" "}
              <a href="#/namespaces">Namespaces</a>.
            </>
          )
        }
        mayEdit={mayEdit}
        isBusy={sharing.isBusy}
        onTurnOn={() => void sharing.run()}
        more="#/settings"
      />
    </div>
  );
}

interface ChoiceProps {
  readonly title: string;
  readonly text: ComponentChildren;
  readonly state: number | null | undefined;
  readonly shown: (limit: number) => string;
  /** Why it does nothing, on or off. */
  readonly idle?: ComponentChildren;
  readonly mayEdit: boolean;
  readonly isBusy: boolean;
  readonly onTurnOn: () => void;
  readonly more: string;
}

const Choice = ({
  title,
  text,
  state,
  shown,
  idle = false,
  mayEdit,
  isBusy,
  onTurnOn,
  more,
}: ChoiceProps): JSX.Element => (
  <div class="row-between setting">
    <div class="grow">
      <strong>{title}</strong>
      <p class="soft small">{text}</p>
      {idle !== false && <p class="idle small">{idle}</p>}
    </div>
    {typeof state === "number" ? (
      <span class="row">
        <Badge tone={idle === false ? "good" : "neutral"}>on: {shown(state)}</Badge>
        <a href={more} class="small">
          Change
        </a>
      </span>
    ) : mayEdit ? (
      <Button isBusy={isBusy} disabled={state === undefined} onClick={onTurnOn} label={`Turn on: ${title}`}>
        Turn on
      </Button>
    ) : (
      <Badge tone="warn">off</Badge>
    )}
  </div>
);
