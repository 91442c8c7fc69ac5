import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import net, { type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { Webhook as Signer } from "standardwebhooks";
import { eventually } from "../support/eventually.js";
import { blocksOf, pageOf } from "../support/house/docs-page.js";
import { at, textAt, until, useApp } from "../support/service/app.js";

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

describe("The receiver in docs/webhooks.md", () => {
  const app = useApp({ WEBHOOK_PRIVATE: "1" });
  let folder: string;
  let file: string;
  let running: ChildProcess | null = null;
  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "onym-receiver-"));
    file = path.join(folder, "receiver.mjs");
    const printed = blocksOf(await pageOf("webhooks.md")).filter(({ language }) => language === "js");
    assert.equal(printed.length, 1);
    await writeFile(file, printed[0]!.text);
  });
  afterEach(() => void running?.kill("SIGKILL"));
  after(() => rm(folder, { recursive: true, force: true }));

  const start = async (secret: string, port: number) => {
    const child = spawn(process.execPath, [file], { env: { ONYM_WEBHOOK_SECRET: secret, PORT: String(port) } });
    running = child;
    let said = "";
    child.stdout.on("data", (chunk: Buffer) => (said += chunk.toString()));
    const post = async (body: string, headers: Readonly<Record<string, string>>) =>
      (await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body, headers })).status;
    await eventually("the receiver listens", () => post("", {}).then(Boolean, () => false));
    return { lines: () => said.split("\n").filter(Boolean), post };
  };

  it("works as it is printed: it takes what the service sends, each entry once, and nothing that is forged or old", async () => {
    const workspace = await app().workspace();
    const port = await freePort();
    const made = await workspace.send("POST", "/v1/webhooks", { url: `http://127.0.0.1:${port}/hook`, after: 0 });
    const [id, secret] = [textAt(made.body, "webhook_id"), textAt(made.body, "secret")];
    const receiver = await start(secret, port);
    const body = { name: "everybody", rule: {} };
    const audience = textAt((await workspace.send("POST", "/v1/audiences", body)).body, "audience_id");
    const wanted: string[] = [];
    for (const value of ["ada@example.com", "bob@example.com"]) {
      const identifiers = [{ namespace: "email", value }];
      const { body: linked } = await workspace.send("POST", "/v1/identify", { identifiers });
      wanted.push(`entered ${audience} ${textAt(linked, "profile_id")}`);
      await app().service.keeper!.rest();
    }
    const delivered = (number: number) =>
      until(
        () => workspace.send("GET", `/v1/webhooks/${id}`),
        (answer) => answer.body["delivered"] === number,
      );
    const { body: shown } = await delivered(2);
    assert.deepEqual([shown["state"], shown["delivered"], shown["last_error"]], ["active", 2, null]);
    await eventually("it has told both", () => receiver.lines().length === 2);
    const said = [`1 ${wanted[0]!}`, `2 ${wanted[1]!}`];
    assert.deepEqual(receiver.lines(), said);
    await workspace.send("POST", `/v1/webhooks/${id}/resume`, { after: 0 });
    await delivered(2);
    const test = await workspace.send("POST", `/v1/webhooks/${id}/test`);
    assert.equal(at(test.body, "status"), 204);
    assert.deepEqual(receiver.lines(), said, "what comes again is not told again");

    const text = JSON.stringify({ webhook_id: id, first_seq: 3, last_seq: 3, entries: [{ seq: 3, type: "entered" }] });
    const signed = (date: Date, by = secret) => ({
      "webhook-id": "m",
      "webhook-timestamp": String(Math.floor(date.getTime() / 1_000)),
      "webhook-signature": new Signer(by).sign("m", date, text),
    });
    const now = new Date();
    const refused = [
      {},
      { ...signed(now), "webhook-signature": "v1,bm90aGluZw==" },
      { ...signed(now), "webhook-id": "n" },
      signed(new Date(now.getTime() - 600_000)),
      signed(now, `whsec_${Buffer.from("somebody else's").toString("base64")}`),
    ];
    for (const headers of refused) assert.equal(await receiver.post(text, headers), 401, JSON.stringify(headers));
    assert.equal(await receiver.post(`${text} `, signed(now)), 401);
    assert.deepEqual(receiver.lines(), said);
    assert.equal(await receiver.post(text, signed(now)), 204);
    // As after a rotation.
    const both = { ...signed(now), "webhook-signature": `v1,bm90aGluZw== ${signed(now)["webhook-signature"]}` };
    assert.equal(await receiver.post(text, both), 204);
    await eventually("it has told the third", () => receiver.lines().length === 3);
  });
});
