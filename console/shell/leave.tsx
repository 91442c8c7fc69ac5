import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { useStore } from "../state/store.js";
import { question } from "../state/unsaved.js";
import { Button, Dialog } from "../ui/kit.js";

const stay = (): void => question.set(null);

/** Asks before work is lost that is not stored. */
export function Leave(): JSX.Element | null {
  const act = useStore(question);
  const agreed = useRef<(() => void) | null>(null);
  useEffect(() => {
    if (act !== null) return;
    // Once the focus is back where the person left it.
    agreed.current?.();
    agreed.current = null;
  }, [act]);
  if (act === null) return null;
  return (
    <Dialog
      title="Leave without saving?"
      onClose={stay}
      foot={
        <>
          <Button onClick={stay}>Stay</Button>
          <Button
            kind="danger"
            onClick={() => {
              agreed.current = act;
              stay();
            }}
          >
            Leave
          </Button>
        </>
      }
    >
      <p>What you wrote here is not saved. It is lost when you leave.</p>
    </Dialog>
  );
}
