import type { ComponentChildren, JSX } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { useAction } from "../api/hooks.js";
import { useUnsaved } from "../state/unsaved.js";
import { Button } from "./buttons.js";
import { Failure } from "./layout.js";

export interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly isLarge?: boolean;
  /** What it was asked for is under way: it stays, because the answer may be a secret or a refusal, which nobody else shows. */
  readonly isBusy?: boolean;
  readonly foot?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** Shown as long as it is drawn. The browser keeps the focus inside, and Escape closes it. */
export function Dialog({ title, onClose, isLarge = false, isBusy = false, foot, children }: DialogProps): JSX.Element {
  useUnsaved(isBusy);
  const close = (): void => {
    if (!isBusy) onClose();
  };
  const box = useRef<HTMLDialogElement>(null);
  const id = useId();
  const open = (): void => {
    box.current?.showModal();
    // The browser would take the first button, which is the close sign: what asks begins at Cancel, and a form at its first field.
    const begins = [".dialog-foot button", ".dialog-body :is(input, select, textarea):enabled"];
    const first = begins.map((which) => box.current?.querySelector<HTMLElement>(which)).find(Boolean);
    first?.focus();
  };
  // At once: a key that is pressed next is meant for it.
  useLayoutEffect(() => {
    const before = document.activeElement;
    open();
    const dialog = box.current;
    return () => {
      // As long as it is open, nothing behind it takes the focus.
      dialog?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={box}
      class={`dialog${isLarge ? " large" : ""}`}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        if (event.cancelable) close();
      }}
      // A browser closes it by itself when Escape is pressed again and again, while it is drawn still: whoever draws it decides.
      onClose={() => {
        if (box.current?.isConnected !== true) return;
        open();
        close();
      }}
    >
      <div class="dialog-head">
        <h2 id={id}>{title}</h2>
        <Button kind="quiet" isSmall icon="close" label="Close" disabled={isBusy} onClick={close} />
      </div>
      <div class="dialog-body">{children}</div>
      {foot !== undefined && <div class="dialog-foot">{foot}</div>}
    </dialog>
  );
}

export interface ConfirmProps {
  readonly title: string;
  /** What the button says: a verb. */
  readonly verb: string;
  readonly isDanger?: boolean;
  /** What the person agrees to is shown. */
  readonly isReady?: boolean;
  /** Rejects if it cannot be done: the dialog stays and says why. */
  readonly act: () => Promise<unknown>;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** Asks before something is done that others will feel. */
export function Confirm({
  title,
  verb,
  isDanger = false,
  isReady = true,
  act,
  onClose,
  children,
}: ConfirmProps): JSX.Element {
  const action = useAction(async () => {
    await act();
    return true;
  });
  const run = async (): Promise<void> => {
    if ((await action.run()) === true) onClose();
  };
  return (
    <Dialog
      title={title}
      onClose={onClose}
      isBusy={action.isBusy}
      foot={
        <>
          <Button disabled={action.isBusy} onClick={onClose}>
            Cancel
          </Button>
          <Button
            kind={isDanger ? "danger" : "primary"}
            disabled={!isReady}
            isBusy={action.isBusy}
            onClick={() => void run()}
          >
            {verb}
          </Button>
        </>
      }
    >
      {children}
      <Failure error={action.error} />
    </Dialog>
  );
}
