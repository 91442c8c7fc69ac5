import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createNames, type Address, type NamesOptions, type Resolve } from "../../keeper/webhooks/names.js";
import { createOutbound, type OutboundOptions } from "../../keeper/webhooks/outbound.js";
import { eventually } from "../support/eventually.js";
import { startNameServer, type NameServer, type Zone } from "../support/service/name-server.js";
import { startReceiver, type Receiver } from "../support/service/receiver.js";

const ZONE: Zone = {
  "hook.example": ["127.0.0.1"],
  "silent.example": "silent",
  "both.example": ["93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"],
  "six.example": ["2606:2800:21f:cb07:6820:80da:af6b:8b2c"],
  "alias.example": ["both.example"],
  "nothing.example": [],
  "inside.example": ["metadata.example"],
  "metadata.example": ["169.254.169.254"],
  "mapped.example": ["::ffff:127.0.0.1"],
  "mixed.example": ["93.184.215.14", "::1"],
  "hooks.team.example": ["93.184.215.15"],
  "hooks.team": ["93.184.215.16"],
  "hooks.team.failing": "servfail",
  "hooks.team.refusing": "refused",
  "no.team.failing": "servfail",
  "no.team.refusing": "refused",
  "hooks.team.silent": "silent",
};

describe("What looks up the names of webhooks", () => {
  let server: NameServer;
  let receiver: Receiver;
  let folder: string;
  beforeEach(async () => {
    [server, receiver] = await Promise.all([startNameServer(ZONE), startReceiver()]);
    folder = await mkdtemp(path.join(tmpdir(), "names-"));
  });
  afterEach(() => Promise.all([server.close(), receiver.close(), rm(folder, { recursive: true })]));

  const fileOf = async (name: string, text: string): Promise<string> => {
    const file = path.join(folder, name);
    await writeFile(file, text);
    return file;
  };
  const names = async (hosts = "", settings = "", { address } = server) => {
    const files: NamesOptions = {
      hostsFile: await fileOf("hosts", hosts),
      resolverFile: await fileOf("resolv.conf", settings),
    };
    return createNames({ ...files, servers: [address] });
  };
  const post = (url: string, options: Partial<OutboundOptions>, signal = new AbortController().signal) =>
    createOutbound({ allowsPrivate: true, ...options }).post({ url, headers: {}, body: "{}" }, signal);
  const addressesOf = (found: readonly Address[]) => found.map(({ address, family }) => `${family} ${address}`);
  const waiting = new AbortController().signal;
  /** What was asked until it was cancelled, which is after the first question. */
  const cancelled = async (resolve: Resolve, name: string): Promise<readonly string[]> => {
    const [before, ending] = [server.asked.length, new AbortController()];
    const ended = assert.rejects(resolve(name, ending.signal), { code: "ECANCELLED" });
    await eventually("it asks", () => server.asked.length > before);
    ending.abort();
    await ended;
    return [...new Set(server.asked.slice(before))];
  };

  it("is not held up by names whose name server is silent, and gives them up when it is told to", async () => {
    const resolve = await names();
    const ending = new AbortController();
    const silent = Array.from({ length: 12 }, () => post("https://silent.example/", { resolve }, ending.signal));
    let ended = 0;
    for (const one of silent) void one.then(() => (ended += 1));
    const { status, error } = await post(`http://hook.example:${new URL(receiver.url).port}/`, { resolve });
    assert.deepEqual([status, error, ended], [200, null, 0]);
    assert.ok(server.asked.filter((name) => name === "silent.example").length >= 12);
    assert.ok(!process.getActiveResourcesInfo().includes("GetAddrInfoReqWrap"), "no thread waits for a name");
    const before = server.asked.length;
    ending.abort();
    await Promise.all(silent);
    assert.equal(server.asked.length, before);
    assert.deepEqual(await cancelled(resolve, "silent.example"), ["silent.example"]);
  });

  it("finds the addresses of both families, also by another name", async () => {
    const resolve = await names();
    const both = ["4 93.184.215.14", "6 2606:2800:21f:cb07:6820:80da:af6b:8b2c"];
    for (const name of ["both.example", "BOTH.example", "both.example.", "alias.example"])
      assert.deepEqual(addressesOf(await resolve(name, waiting)), both, name);
    assert.deepEqual(addressesOf(await resolve("six.example", waiting)), both.slice(1));
    for (const name of ["nothing.example", "unknown.example"])
      await assert.rejects(resolve(name, waiting), { code: "ENOTFOUND" });
  });

  it("takes a name of the hosts file, and asks nobody", async () => {
    const resolve = await names("# 10.0.0.9 compose\n10.0.0.7\tother Compose # mine\n fd00::7 compose\n", "");
    assert.deepEqual(addressesOf(await resolve("compose", waiting)), ["4 10.0.0.7", "6 fd00::7"]);
    assert.deepEqual(server.asked, []);
    const { port } = new URL(receiver.url);
    assert.equal((await post(`http://localhost:${port}/`, {})).status, 200, "of this machine's file");
  });

  it("looks in the search domains as the system does", async () => {
    const settings = "search old\nnameserver 192.0.2.1\nsearch none.example example\noptions timeout:1";
    const asked = async (name: string, text: string) =>
      addressesOf(await (await names("", text))(name, waiting)).join(" ");
    assert.equal(await asked("six", settings), "6 2606:2800:21f:cb07:6820:80da:af6b:8b2c");
    assert.equal(await asked("hooks.team", settings), "4 93.184.215.16");
    assert.equal(await asked("hooks.team", `${settings} ndots:5`), "4 93.184.215.15");
    assert.equal(await asked("hooks.team.", `${settings} ndots:5`), "4 93.184.215.16");
    assert.equal(await asked("six.example", `search .\noptions ndots:5`), "6 2606:2800:21f:cb07:6820:80da:af6b:8b2c");
  });

  it("goes on behind a search domain whose name server fails, as the system does", async () => {
    for (const [search, address] of [
      ["failing example", "93.184.215.15"],
      ["refusing", "93.184.215.16"],
    ]) {
      const resolve = await names("", `search ${search}\noptions ndots:5`);
      assert.deepEqual(addressesOf(await resolve("hooks.team", waiting)), [`4 ${address}`]);
    }
    const resolve = await names("", "search failing refusing\noptions ndots:5");
    await assert.rejects(resolve("no.team", waiting), { code: "ESERVFAIL", hostname: "no.team.failing" });
    const silent = await names("", "search silent\noptions ndots:5");
    const asked = await cancelled(silent, "hooks.team");
    assert.deepEqual(asked, ["hooks.team.silent"], "a name of the cluster becomes none of the Internet");
  });

  it("lets no name lead to an address that is not public", async () => {
    const resolve = await names("10.0.0.7 hosted.example");
    const error = "The url was refused: the address is not a public one.";
    for (const name of ["hook", "inside", "mapped", "mixed", "hosted"])
      assert.deepEqual(
        await post(`https://${name}.example/`, { resolve, allowsPrivate: false }),
        { status: null, error, retryAfter: null },
        name,
      );
  });

  it("says that a name is not known, or that no name server answers", async () => {
    const errorOf = async (url: string, of: NameServer) => {
      return (await post(url, { resolve: await names("", "", of) })).error;
    };
    assert.equal(await errorOf("https://unknown.example/", server), "The name of the host is not known (ENOTFOUND).");
    const closed = await startNameServer({});
    await closed.close();
    assert.equal(await errorOf("https://hook.example/", closed), "The name of the host is not known (ECONNREFUSED).");
  });
});
