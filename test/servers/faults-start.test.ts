import assert from "node:assert/strict";
import net, { type AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Backends } from "../../app/backends.js";
import { silentLog } from "../../app/logger.js";
import { startService } from "../../app/service.js";
import { ConfigError, readConfig } from "../../core/config.js";
import { temporaryFolder } from "../support/backends.js";
import { dropPlaces } from "../support/house/places.js";
import { openMongoProxy } from "../support/servers/mongo-faults.js";
import { OPERATOR_KEY, type Settings } from "../support/service/app.js";
import { run, type Program } from "../support/service/process.js";
import { ownPlaces, serversUnderTest } from "../support/servers/servers.js";
import { assertTook, inGroups } from "../support/service/traffic.js";

const CANARY = "canary4711";
const SERVER_URLS = ["RABBITMQ_URL", "MONGODB_URL", "NEO4J_URL"] as const;

interface Refusal {
  readonly title: string;
  /** What the line begins with. */
  readonly names: string;
  readonly settings: (servers: Settings, ports: Ports) => Settings;
}

interface Ports {
  /** Nobody listens there. */
  readonly closed: number;
  /** Takes connections and says nothing. */
  readonly silent: number;
  /** Speaks another protocol. */
  readonly http: number;
}

const changed = (url: string, change: (url: URL) => void): string => {
  const copy = new URL(url);
  change(copy);
  return copy.toString();
};
const withPort = (url: string, port: number): string => changed(url, (copy) => (copy.port = String(port)));
const withHost = (url: string): string => changed(url, (copy) => (copy.hostname = "no-such-host.invalid"));

const refusalsOf = (name: (typeof SERVER_URLS)[number]): readonly Refusal[] => [
  {
    title: "a closed port",
    names: name,
    settings: (servers, { closed }) => ({ [name]: withPort(servers[name]!, closed) }),
  },
  { title: "a host that does not exist", names: name, settings: (servers) => ({ [name]: withHost(servers[name]!) }) },
  {
    title: "a port of something else",
    names: name,
    settings: (servers, { http }) => ({ [name]: withPort(servers[name]!, http) }),
  },
  {
    title: "a silent port",
    names: name,
    settings: (servers, { silent }) => ({ [name]: withPort(servers[name]!, silent) }),
  },
  {
    title: "an address of another kind",
    names: name,
    settings: () => ({ [name]: `ftp://user:${CANARY}@127.0.0.1:1/x` }),
  },
];

const REFUSALS: readonly Refusal[] = [
  ...SERVER_URLS.flatMap(refusalsOf),
  {
    title: "a wrong password",
    names: "RABBITMQ_URL",
    settings: ({ RABBITMQ_URL }) => ({ RABBITMQ_URL: changed(RABBITMQ_URL!, (url) => (url.password = CANARY)) }),
  },
  {
    title: "a virtual host that does not exist",
    names: "RABBITMQ_URL",
    settings: ({ RABBITMQ_URL }) => ({ RABBITMQ_URL: changed(RABBITMQ_URL!, (url) => (url.pathname = "/nowhere")) }),
  },
  { title: "a wrong password", names: "NEO4J_PASSWORD", settings: () => ({ NEO4J_PASSWORD: CANARY }) },
];

describe("A process that cannot reach its servers", () => {
  const listeners: net.Server[] = [];
  const programs: Program[] = [];
  const open = async (answer: (socket: net.Socket) => void): Promise<number> => {
    const server = net.createServer((socket) => void socket.on("error", () => {}).once("data", () => answer(socket)));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    listeners.push(server);
    return (server.address() as AddressInfo).port;
  };
  let ports: Ports;
  const servers = (): Settings => ({ ...serversUnderTest() });
  before(async () => {
    const silent = await open(() => {});
    const http = await open((socket) => socket.end("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"));
    const closed = await open(() => {});
    await new Promise((resolve) => listeners.pop()!.close(resolve));
    ports = { silent, http, closed };
  });
  after(async () => {
    for (const program of programs) program.signal("SIGKILL");
    for (const server of listeners) server.close();
  });
  const begin = (settings: Settings): Program => {
    const program = run({ RABBITMQ_QUEUE: "t-refused", ...servers(), ...settings });
    programs.push(program);
    return program;
  };

  it("in a split mode without one of the three addresses ends with exit code 2 and a line that names it", async () => {
    for (const mode of ["gateway", "worker"])
      await Promise.all(
        SERVER_URLS.map(async (name) => {
          const program = begin({ MODE: mode, [name]: "" });
          assert.equal(await program.exited(), 2);
          assert.match(program.stderr(), new RegExp(`^onym: ${name}: .*\\n$`));
        }),
      );
  });

  it("ends with a line that names OPERATOR_KEY when there is no workspace and nobody could make one", async () => {
    const program = begin({ MODE: "gateway", ...ownPlaces(serversUnderTest()) });
    assert.equal(await program.exited(), 2);
    assert.match(program.stderr(), /^onym: OPERATOR_KEY: .*\n$/);
  });

  it("ends within 15 s with one line that names the variable, an exit code and no password, whatever is wrong", async () => {
    const wrong: string[] = [];
    await inGroups(REFUSALS, 3, async ({ title, names, settings }) => {
      const before = performance.now();
      const program = begin({ MODE: "gateway", ...settings(servers(), ports) });
      const code = await Promise.race([program.exited(), sleep(60_000, "late")]);
      const tookMs = performance.now() - before;
      const [stdout, stderr] = [program.stdout(), program.stderr()];
      const told = `${names}, ${title}: exit code ${code} after ${Math.round(tookMs)} ms\n${stdout}${stderr}`;
      const isOneLine = new RegExp(`^onym: ${names}: .+\\n$`).test(stderr);
      const secrets = [CANARY, new URL(servers()["RABBITMQ_URL"]!).password, servers()["NEO4J_PASSWORD"]!];
      const isLeaked = secrets.some((secret) => `${stdout}${stderr}`.includes(secret));
      if (code !== 2 || !isOneLine || isLeaked || stdout !== "") wrong.push(told);
      await assertTook(tookMs, 15_000, told);
    });
    assert.equal(wrong.join("\n"), "");
  });

  it("any more, once the start has begun, is told which variable names the server", async () => {
    for (const name of ["MONGODB_URL", "NEO4J_URL"] as const) {
      const { [name]: url, ...others } = ownPlaces(serversUnderTest());
      const proxy = await openMongoProxy(url!);
      const unused = Object.fromEntries(SERVER_URLS.map((one) => [one, ""]));
      const settings = {
        ...others,
        ...unused,
        PORT: "0",
        OPERATOR_KEY,
        DATA_DIR: await temporaryFolder(),
        [name]: proxy.url,
      };
      const wrap = (backends: Backends): Backends => {
        proxy.silence();
        return backends;
      };
      try {
        const start = startService({ config: readConfig(settings), log: silentLog, wrap });
        await assert.rejects(start, (error) => {
          assert.ok(error instanceof ConfigError, String(error));
          assert.ok(
            error.message.startsWith(`${name}: the server answered at first, then a request failed`),
            error.message,
          );
          return true;
        });
      } finally {
        await proxy.close();
      }
      await dropPlaces(name === "MONGODB_URL" ? { MONGODB_URL: url! } : {});
    }
  });
});
