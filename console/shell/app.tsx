import type { JSX } from "preact";
import { useCallback, useEffect, useState } from "preact/hooks";
import { AwayError } from "../api/http.js";
import { connection, returns } from "../state/connection.js";
import { findSession, session } from "../state/session.js";
import { useStore } from "../state/store.js";
import { secretsShown } from "../state/unsaved.js";
import { Bones, Failure } from "../ui/kit.js";
import { Notices } from "../ui/notices.js";
import { Frame } from "./frame.js";
import { Login, LoginAgain, Outside } from "./login.js";

const AGAIN_MS = 3_000;

/** Finds the session, and tries again until it is known. Answers why it is not, and how to try at once. */
function useBeginning(): readonly [error: unknown, again: () => void] {
  const [error, setError] = useState<unknown>(null);
  const [asked, setAsked] = useState(0);
  const returned = useStore(returns);
  const again = useCallback(() => setAsked((count) => count + 1), []);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isLast = true;
    const failed = (why: unknown): void => {
      if (!isLast || session.get().state !== "unknown") return;
      // The banner tells that the service is away, and when it returns this runs anew.
      const isAway = why instanceof AwayError;
      setError(isAway ? null : why);
      if (!isAway) timer = setTimeout(again, AGAIN_MS);
    };
    if (session.get().state === "unknown") findSession().then(() => setError(null), failed);
    return () => {
      isLast = false;
      clearTimeout(timer);
    };
  }, [asked, returned, again]);
  return [error, again];
}

/** Most services answer before a page of bones could be read as anything but a flash. */
const WAITED_MS = 1_000;

/** Nobody knows yet whose session it is. */
function Unknown({ error, again }: { readonly error: unknown; readonly again: () => void }): JSX.Element | null {
  const [isLong, setLong] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLong(true), WAITED_MS);
    return () => clearTimeout(timer);
  }, []);
  if (error === null && !isLong) return null;
  return <Outside>{error === null ? <Bones lines={4} /> : <Failure error={error} onRetry={again} />}</Outside>;
}

export function App(): JSX.Element {
  const known = useStore(session);
  const isAway = useStore(connection) === "away";
  const isSecretShown = useStore(secretsShown) > 0;
  const [error, again] = useBeginning();
  const ended = known.state === "in" ? known.ended : null;
  return (
    <>
      {known.state === "in" && <Frame key={known.page} />}
      {known.state === "in" && ended !== null && !isSecretShown && <LoginAgain reason={ended} me={known.me} />}
      {known.state === "out" && <Login reason={known.reason} />}
      {known.state === "unknown" && <Unknown error={error} again={again} />}
      <div class="told">
        <Notices />
        {isAway && (
          <div class="banner" role="status">
            The service does not answer. This page continues by itself when it is back.
          </div>
        )}
        {ended !== null && isSecretShown && (
          <div class="banner" role="status">
            {ended} Copy the secret that this page shows: it is lost when you leave the page to log in again.
          </div>
        )}
      </div>
    </>
  );
}
