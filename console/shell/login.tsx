import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useAction } from "../api/hooks.js";
import type { Me } from "../api/types.js";
import { giveUp, logIn } from "../state/session.js";
import { whenFree } from "../state/unsaved.js";
import { Button, Dialog, Failure, Form, Message, TextField } from "../ui/kit.js";
import { Logo } from "../ui/icons.js";

/** What is shown while no page is. */
export const Outside = ({ children }: { readonly children: ComponentChildren }): JSX.Element => (
  <main class="login">
    <div class="login-box">
      <div class="brand">
        <Logo />
        <h1>Onym</h1>
      </div>
      {children}
    </div>
  </main>
);

function KeyForm({ reason, hint }: { readonly reason: string | null; readonly hint: ComponentChildren }): JSX.Element {
  const [key, setKey] = useState("");
  const action = useAction(logIn);
  return (
    <>
      {reason !== null && action.error === null && <Message tone="info">{reason}</Message>}
      <Form onSubmit={() => void action.run(key)}>
        <TextField
          label="API key"
          type="password"
          value={key}
          onInput={(text) => {
            action.reset();
            setKey(text);
          }}
          autocomplete="current-password"
          placeholder="onym_…"
          hint={hint}
        />
        <Failure error={action.error} />
        <div class="form-actions">
          <Button kind="primary" type="submit" isBusy={action.isBusy} needs={key.trim() === "" ? "Enter a key" : null}>
            Log in
          </Button>
        </div>
      </Form>
    </>
  );
}

export function Login({ reason }: { readonly reason: string | null }): JSX.Element {
  useEffect(() => {
    document.title = "Log in · Onym";
  }, []);
  return (
    <Outside>
      <KeyForm
        reason={reason}
        hint={
          <>
            Use any key except a sending key. An owner can create one on the page Keys. When the service first started,
            it showed the owner key, or named the file that holds it. If it is lost, the command{" "}
            <code class="unbroken">npm run owner-key</code> makes a new one.
          </>
        }
      />
      <p class="small soft">
        The key is not kept: this browser gets a cookie that no script can read, for eight hours or until the key is
        revoked.
      </p>
    </Outside>
  );
}

/** Over a page that holds work which is not stored. */
export function LoginAgain({
  reason,
  me: { workspace, key },
}: {
  readonly reason: string;
  readonly me: Me;
}): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  // The dialog would begin at its close sign.
  useLayoutEffect(() => box.current?.querySelector("input")?.focus(), []);
  return (
    <Dialog title="Log in again" onClose={() => whenFree(giveUp)}>
      <div ref={box} class="stack">
        <KeyForm
          reason={reason}
          hint={
            <>
              What you wrote is still here. To go on, log in with a key of {workspace.name} whose role is {key.role}
              {key.role !== "owner" && " or higher"}, for example with “{key.name ?? key.key_id}” if that is still
              valid. With any other key it is lost.
            </>
          }
        />
      </div>
    </Dialog>
  );
}
