import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { BSON } from "mongodb";

/** A server between the driver and the real one, which can be taken away. */
export interface MongoProxy {
  readonly url: string;
  /** As a stopped process: connections are accepted and nothing is answered. */
  silence(): void;
  resume(): void;
  /** Each answer comes so much later. */
  slow(delayMs: number): void;
  /** As a killed process: connections break, new ones are refused. */
  kill(): Promise<void>;
  restart(): Promise<void>;
  close(): Promise<void>;
}

export async function openMongoProxy(url: string): Promise<MongoProxy> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  let isSilent = false;
  let lateMs = 0;
  const hold = (socket: Socket): void => {
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    if (isSilent) socket.pause();
  };
  const forward = (from: Socket, write: (bytes: Buffer) => void, end: () => void): void => {
    from.on("data", write).on("close", end);
    hold(from);
  };
  const serve = (client: Socket): void => {
    const server = connect(Number(target.port), target.hostname);
    forward(
      client,
      (bytes) => server.write(bytes),
      () => server.destroy(),
    );
    forward(
      server,
      (bytes) => (lateMs === 0 ? client.write(bytes) : setTimeout(() => client.write(bytes), lateMs)),
      () => client.destroy(),
    );
  };
  let listener = await listen(serve, 0);
  const { port } = listener.address() as AddressInfo;
  const kill = async (): Promise<void> => {
    if (!listener.listening) return;
    listener.close();
    for (const socket of sockets) socket.destroy();
    await once(listener, "close");
  };
  return {
    url: url.replace(target.host, `127.0.0.1:${port}`),
    silence: () => {
      isSilent = true;
      for (const socket of sockets) socket.pause();
    },
    resume: () => {
      isSilent = false;
      for (const socket of sockets) socket.resume();
    },
    slow: (delayMs) => {
      lateMs = delayMs;
    },
    kill,
    restart: async () => {
      listener = await listen(serve, port);
    },
    close: kill,
  };
}

async function listen(serve: (socket: Socket) => void, port: number): Promise<Server> {
  const server = createServer(serve).listen(port, "127.0.0.1");
  await once(server, "listening");
  return server;
}

const HEADER_BYTES = 16;
const OP_REPLY = 1;
const OP_QUERY = 2_004;
const OP_MSG = 2_013;
const HELLO = { ismaster: true, helloOk: true, maxWireVersion: 21, minWireVersion: 0, ok: 1 };
const LIMITS = { maxBsonObjectSize: 16_777_216, maxMessageSizeBytes: 48_000_000, maxWriteBatchSize: 100_000 };

/** Answers what the real server cannot be brought to answer: `answer` gets each command but the greetings; null answers plain success. */
export async function openFakeMongo(answer: (command: BSON.Document) => BSON.Document | null): Promise<{
  readonly host: string;
  close(): Promise<void>;
}> {
  const sockets = new Set<Socket>();
  const reply = (command: BSON.Document): BSON.Document => {
    const isGreeting = "hello" in command || "ismaster" in command;
    return isGreeting ? { ...HELLO, ...LIMITS } : (answer(command) ?? { ok: 1, n: 0 });
  };
  const server = await listen((socket) => {
    sockets.add(socket);
    let pending: Buffer = Buffer.alloc(0);
    socket
      .on("error", () => {})
      .on("data", (bytes: Buffer) => {
        pending = Buffer.concat([pending, bytes]);
        while (pending.length >= HEADER_BYTES && pending.length >= pending.readInt32LE(0)) {
          const message = pending.subarray(0, pending.readInt32LE(0));
          pending = pending.subarray(message.length);
          socket.write(responseTo(message, reply));
        }
      });
  }, 0);
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, "close");
    },
  };
}

function responseTo(message: Buffer, reply: (command: BSON.Document) => BSON.Document): Buffer {
  const requestId = message.readInt32LE(4);
  const isMessage = message.readInt32LE(12) === OP_MSG;
  const body = Buffer.from(BSON.serialize(reply(commandIn(message, isMessage))));
  // Flags and the kind of the one section; or flags, cursor, position and number of documents.
  const prefix = isMessage ? Buffer.alloc(5) : Buffer.alloc(20);
  if (!isMessage) prefix.writeInt32LE(1, 16);
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeInt32LE(HEADER_BYTES + prefix.length + body.length, 0);
  header.writeInt32LE(requestId, 8);
  header.writeInt32LE(isMessage ? OP_MSG : OP_REPLY, 12);
  return Buffer.concat([header, prefix, body]);
}

/** The greeting of a new connection is an OP_QUERY: flags, name, two numbers, the document. All else: flags, kind 0, the document. */
function commandIn(message: Buffer, isMessage: boolean): BSON.Document {
  if (!isMessage && message.readInt32LE(12) !== OP_QUERY) throw new Error("not a message of the driver");
  const start = isMessage ? HEADER_BYTES + 5 : message.indexOf(0, HEADER_BYTES + 4) + 9;
  return BSON.deserialize(message.subarray(start, start + message.readInt32LE(start)));
}
