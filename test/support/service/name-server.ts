import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { isIP, isIPv4 } from "node:net";

/** What a name server says of each name: addresses, and names that it stands for. It is silent, or fails, where it is told to. */
export type Zone = Readonly<Record<string, readonly string[] | Failing>>;
type Failing = "silent" | keyof typeof FAILURES;

export interface NameServer {
  /** As `setServers` takes it. */
  readonly address: string;
  /** The names that it was asked for, once for each family. */
  readonly asked: readonly string[];
  close(): Promise<void>;
}

const HEADER_BYTES = 12;
const [A, CNAME, AAAA] = [1, 5, 28];
const NO_SUCH_NAME = 3;
const FAILURES = { servfail: 2, refused: 5 } as const;

/** On this machine, by UDP. */
export async function startNameServer(zone: Zone): Promise<NameServer> {
  const asked: string[] = [];
  const socket: Socket = createSocket("udp4");
  socket.on("message", (query, from) => {
    const { name, type, end } = questionOf(query);
    asked.push(name);
    const said = zone[name];
    if (said === "silent") return;
    const records = recordsOf(zone, name, type);
    const header = Buffer.from(query.subarray(0, HEADER_BYTES));
    header.writeUInt16BE(0x8180 | codeOf(said), 2);
    header.writeUInt16BE(records.length, 6);
    header.writeUInt32BE(0, 8);
    socket.send(Buffer.concat([header, query.subarray(HEADER_BYTES, end), ...records]), from.port, from.address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked,
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

const codeOf = (said: Zone[string] | undefined): number => {
  if (said === undefined) return NO_SUCH_NAME;
  return said === "servfail" || said === "refused" ? FAILURES[said] : 0;
};

function questionOf(query: Buffer) {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = query[at]!; length > 0; length = query[at]!) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join(".").toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

/** Those of the names that it stands for behind it. */
function recordsOf(zone: Zone, name: string, type: number): readonly Buffer[] {
  const said = zone[name];
  if (said === undefined || typeof said === "string") return [];
  return said.flatMap((one) => {
    if (isIP(one) === 0) return [recordOf(name, CNAME, nameBytes(one)), ...recordsOf(zone, one, type)];
    return type === (isIPv4(one) ? A : AAAA) ? [recordOf(name, type, addressBytes(one))] : [];
  });
}

function recordOf(name: string, type: number, data: Buffer): Buffer {
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(type, 0);
  fixed.writeUInt16BE(1, 2);
  fixed.writeUInt32BE(1, 4);
  fixed.writeUInt16BE(data.length, 8);
  return Buffer.concat([nameBytes(name), fixed, data]);
}

const nameBytes = (name: string): Buffer =>
  Buffer.concat([
    ...name.split(".").map((one) => Buffer.from(`${String.fromCharCode(one.length)}${one}`)),
    Buffer.of(0),
  ]);

function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split(".").map(Number));
  // In hexadecimal numbers, also where it ends in an IPv4 address.
  const { hostname } = new URL(`http://[${address}]/`);
  const [before = [], after = []] = hostname
    .slice(1, -1)
    .split("::")
    .map((part) => part.split(":").filter((one) => one !== ""));
  const groups = [...before, ...Array<string>(8 - before.length - after.length).fill("0"), ...after];
  return Buffer.from(groups.map((one) => one.padStart(4, "0")).join(""), "hex");
}
