import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useAction } from "../api/hooks.js";
import { logIn } from "../state/session.js";
import { Button, Failure, Form, Message, TextField } from "../ui/kit.js";
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

export function Login({ reason }: { readonly reason: string | null }): JSX.Element {
  const [key, setKey] = useState("");
  const action = useAction(logIn);
  useEffect(() => {
    document.title = "Log in · Onym";
  }, []);
  return (
    <Outside>
      {reason !== null && action.error === null && <Message tone="info">{reason}</Message>}
      <Form onSubmit={() => void action.run(key)}>
        <TextField
          label="API key"
          type="password"
          value={key}
          onInput={setKey}
          autocomplete="current-password"
          placeholder="onym_…"
          hint={
            <>
              When the service first started, it showed the owner key, or named the file that holds it. If it is lost,
              the command <code class="unbroken">npm run owner-key</code> makes a new one.
            </>
          }
        />
        <Failure error={action.error} />
        <Button kind="primary" type="submit" isBusy={action.isBusy} disabled={key.trim() === ""}>
          Log in
        </Button>
      </Form>
      <p class="small soft">
        The key is not kept: this browser gets a cookie that no script can read, for eight hours or until the key is
        revoked.
      </p>
    </Outside>
  );
}
