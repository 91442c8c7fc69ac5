import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, Socket, type AddressInfo } from "node:net";
import { closeConnection, createConnection } from "../../../store/rabbitmq/connection.js";

/** What we reach for inside the library. Its exact version is pinned; a new one that moves these must be looked at. */
interface Inside {
  readonly _socket: unknown;
  readonly _state: { readonly lazyChannel: unknown };
}

/** A connection to a server that accepts it and never says a word. */
async function withSilentBroker(use: (connection: ReturnType<typeof createConnection>) => Promise<void>) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => sockets.add(socket)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `amqp://user:pass@127.0.0.1:${(server.address() as AddressInfo).port}`;
  const connection = createConnection(url, "test", () => undefined);
  try {
    await use(connection);
  } finally {
    connection.unsafeDestroy();
    for (const socket of sockets) socket.destroy();
    server.close();
  }
}

describe("The RabbitMQ client, where we reach inside it,", () => {
  it("has its socket where what is sent in one turn is held together", () =>
    withSilentBroker(async (connection) => {
      const { _socket: socket } = connection as unknown as Inside;
      assert.ok(socket instanceof Socket);
    }));

  it("has the channel that it is opening where a close finds it, and a close then ends in time", () =>
    withSilentBroker(async (connection) => {
      const declared = assert.rejects(connection.queueDeclare({ passive: true, queue: "none" }));
      const { _state: state } = connection as unknown as Inside;
      assert.ok(state.lazyChannel instanceof Promise);
      await closeConnection(connection);
      await declared;
    }));
});
