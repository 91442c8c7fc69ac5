import http from "node:http";
import net, { type AddressInfo } from "node:net";
import { ConfigError } from "../core/config.js";
import type { Shutdown } from "../gateway/http/stopping.js";

/** Resolves with the port. Throws `ConfigError` that names the variable when the address cannot be taken. */
export function listen(server: http.Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => reject(listenError(error, host, port)));
    server.listen({ host, port, backlog: 1_024 }, () => {
      server.removeAllListeners("error");
      resolve((server.address() as AddressInfo).port);
    });
  });
}

/** EINVAL: as `fe80::1` without its interface. EAI_AGAIN: a name, and no name server answers. */
const NO_ADDRESS = new Set(["EADDRNOTAVAIL", "ENOTFOUND", "EINVAL", "EAI_AGAIN"]);

function listenError(error: NodeJS.ErrnoException, host: string, port: number): Error {
  if (error.code === "EADDRINUSE") return new ConfigError(`PORT: ${port} is in use by another process`);
  if (error.code === "EACCES") return new ConfigError(`PORT: ${port} may not be used by this user`);
  if (NO_ADDRESS.has(error.code ?? "")) return new ConfigError(`HOST: ${host} is not an address of this machine`);
  return error;
}

const FAREWELL_MS = 1_000;
const SWEEP_MS = 50;
/** A turn of the loop that took no longer had next to nothing to read. */
const QUIET_MS = 5;

/**
 * Stops listening and lets running requests finish. Idle connections stay open for a moment, so that a client that sends on one just now
 * gets an answer with `Connection: close` instead of a reset.
 */
export async function drain(
  server: http.Server,
  timeoutMs: number,
  shutdown: Pick<Shutdown, "listenerClosed" | "giveUp">,
): Promise<void> {
  const overdue = Date.now() + timeoutMs;
  await acceptWaiting(server, Date.now() + timeoutMs / 2);
  const farewell = Math.min(Date.now() + FAREWELL_MS, overdue);
  return new Promise((resolve) => {
    const sweep = setInterval(() => {
      if (Date.now() > overdue) {
        shutdown.giveUp();
        setTimeout(() => server.closeAllConnections(), SWEEP_MS);
      } else if (Date.now() > farewell) closeIdle(server);
    }, SWEEP_MS);
    // The HTTP server's own close would drop idle connections at once.
    net.Server.prototype.close.call(server, () => {
      clearInterval(sweep);
      resolve();
    });
    shutdown.listenerClosed();
  });
}

/** Under load, requests wait unread on connections that seem idle. What came before a quiet turn was read in it. */
function closeIdle(server: http.Server): void {
  const before = performance.now();
  setImmediate(() => {
    if (performance.now() - before < QUIET_MS) server.closeIdleConnections();
  });
}

/**
 * After this many turns of the loop without a new connection, none is waiting. One turn is not enough: it may have begun before we
 * counted.
 */
const QUIET_TURNS = 2;

/**
 * Under load, connections wait in the operating system, because each turn of the loop accepts one. Closing the listener would reset them.
 */
async function acceptWaiting(server: http.Server, deadline: number): Promise<void> {
  let quietTurns = 0;
  const accepted = (): void => {
    quietTurns = 0;
  };
  server.on("connection", accepted);
  while (quietTurns < QUIET_TURNS && Date.now() < deadline) {
    quietTurns += 1;
    await new Promise((resolve) => setImmediate(resolve));
  }
  server.off("connection", accepted);
}
