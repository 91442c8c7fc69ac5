import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { connection, returns } from "../state/connection.js";
import { findSession, session } from "../state/session.js";
import { useStore } from "../state/store.js";
import { Notices } from "../ui/notices.js";
import { Frame } from "./frame.js";
import { Login } from "./login.js";

export function App(): JSX.Element {
  const known = useStore(session);
  const isAway = useStore(connection) === "away";
  const returned = useStore(returns);
  useEffect(() => {
    if (session.get().state === "unknown") findSession().catch(() => {});
  }, [returned]);
  return (
    <>
      {isAway && (
        <div class="banner" role="status">
          The service does not answer. This page goes on by itself when it is back.
        </div>
      )}
      {known.state === "in" && <Frame key={known.me.key.key_id} />}
      {known.state === "out" && <Login reason={known.reason} />}
      <Notices />
    </>
  );
}
