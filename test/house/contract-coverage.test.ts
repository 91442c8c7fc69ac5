import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { catalogStoreContract } from "../contracts/catalog/catalog-store.contract.js";
import { eventQueueContract } from "../contracts/events/event-queue.contract.js";
import { eventStoreContract } from "../contracts/events/event-store.contract.js";
import { foldContract } from "../contracts/events/fold.contract.js";
import { identityGraphContracts } from "../contracts/graph/identity-graph.contract.js";
import { audienceStoreContract } from "../contracts/catalog/audience-store.contract.js";
import { liveChannelContract } from "../contracts/live-channel.contract.js";
import { markStoreContract } from "../contracts/profiles/mark-store.contract.js";
import { seatStoreContract } from "../contracts/profiles/seat-store.contract.js";
import { tallyStoreContract } from "../contracts/profiles/tally-store.contract.js";
import { webhookStoreContract } from "../contracts/catalog/webhook-store.contract.js";
import { profileStoreContract } from "../contracts/profiles/profile-store.contract.js";
import { CONTRACT } from "../support/house/contract-table.js";
import { STATUSES } from "../support/house/status-table.js";

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../..");
const SPECIFICATION = path.join(ROOT, "../shared/spec/service.md");
const PROMISES = path.join(ROOT, "../shared/reference/promises.md");

/** Titles as they stand in the sources, so that a renamed or removed test shows here. */
function titles(): ReadonlySet<string> {
  const files = readdirSync(path.join(ROOT, "test"), { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".test.ts"),
  );
  const found = files.flatMap((name) => {
    const text = readFileSync(path.join(ROOT, "test", name), "utf8");
    return [...text.matchAll(/\bit\(\s*"((?:[^"\\]|\\.)*)"/g)].map((match) => match[1]!);
  });
  return new Set(found);
}

const isRule = (line: string | undefined): boolean => line !== undefined && /^\|[-| ]+\|$/.test(line);

/** Lines that say something: no headings, and of tables only the rows. */
function statements(text: string): readonly string[] {
  const lines = text.split("\n").map((line) => line.trim());
  return lines.filter((line, i) => {
    const isTableHead = line.startsWith("|") && isRule(lines[i + 1]);
    return line !== "" && !line.startsWith("#") && line !== "Rules:" && !isRule(line) && !isTableHead;
  });
}

/** False, and said aloud, where the text is not beside the project. */
function isHere(file: string): boolean {
  if (existsSync(file)) return true;
  console.warn(`NOT RUN: ${path.relative(ROOT, file)} is not here`);
  return false;
}

/** The contract of each port. */
const CONTRACTS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  EventQueue: eventQueueContract,
  EventStore: { ...eventStoreContract, ...foldContract },
  AudienceStore: audienceStoreContract,
  LiveChannel: liveChannelContract,
  MarkStore: markStoreContract,
  SeatStore: seatStoreContract,
  WebhookStore: webhookStoreContract,
  TallyStore: tallyStoreContract,
  ProfileStore: profileStoreContract,
  CatalogStore: catalogStoreContract,
  ...identityGraphContracts,
};

/** Each port as it stands in the source, with those of its methods that are told a workspace. */
function ports(): ReadonlyMap<string, readonly string[]> {
  const folder = path.join(ROOT, "core/ports");
  const text = readdirSync(folder)
    .map((name) => readFileSync(path.join(folder, name), "utf8"))
    .join("\n");
  const found = [...text.matchAll(/^export interface (\w+)(?:\s+extends ([\w, ]+))? \{([\s\S]*?)\}$/gm)];
  const methodsOf = (body: string): readonly string[] =>
    [...body.matchAll(/^ {2}(\w+)(?:<\w+>)?\(\s*workspace: WorkspaceId\b/gm)].map((match) => match[1]!);
  const ports = found.map(([, name, parents, body]) => ({ name: name!, parents, methods: methodsOf(body!) }));
  return new Map(
    ports
      .filter(({ parents, methods }) => parents?.startsWith("Port") === true || methods.length > 0)
      .map(({ name, methods }) => [name, methods]),
  );
}

describe("Coverage of the ports", () => {
  it("gives every port a contract, and every contract a port", () => {
    assert.deepEqual([...ports().keys()].toSorted(), Object.keys(CONTRACTS).toSorted());
    assert.ok([...ports().values()].flat().length > 20, "the methods were found");
  });

  it("names every method that is told a workspace in a sentence on keeping workspaces apart", () => {
    for (const [port, methods] of ports()) {
      const apart = Object.keys(CONTRACTS[port]!).filter((sentence) => /keeps? workspaces apart$/.test(sentence));
      const named = new Set(apart.flatMap((sentence) => sentence.match(/\w+/g)));
      assert.deepEqual(
        methods.filter((method) => !named.has(method)),
        [],
        port,
      );
    }
  });

  it("holds every port to survive close and reopen", () => {
    // A part of the graph's port is opened and closed with the whole.
    const isPart = (port: string): boolean => port in identityGraphContracts && port !== "IdentityGraph";
    for (const [port, contract] of Object.entries(CONTRACTS).filter(([port]) => !isPart(port)))
      assert.ok(
        Object.keys(contract).some((sentence) => sentence.endsWith("close and reopen")),
        port,
      );
  });
});

describe("Coverage of the contract", () => {
  it("names only tests that exist", () => {
    const known = titles();
    const named = [...Object.values(CONTRACT), ...Object.values(STATUSES)].flatMap((cover) =>
      "untested" in cover ? [] : cover,
    );
    assert.ok(named.length > 80);
    assert.deepEqual(
      [...new Set(named)].filter((title) => !known.has(title)),
      [],
    );
  });

  it("holds every line of the contract to the titles of tests, or says why not", () => {
    if (!isHere(SPECIFICATION)) return;
    const lines = statements(readFileSync(SPECIFICATION, "utf8"));
    const pieces = Object.keys(CONTRACT);
    const uncovered = lines.filter((line) => !pieces.some((piece) => line.includes(piece)));
    assert.deepEqual(uncovered, []);
    const stale = pieces.filter((piece) => lines.filter((line) => line.includes(piece)).length !== 1);
    assert.deepEqual(stale, []);
  });

  it("leaves only those lines untested that state nothing or leave it to the design", () => {
    const open = Object.entries(CONTRACT).filter(([, cover]) => "untested" in cover && cover.untested !== "prose");
    for (const [piece] of open) assert.ok(!/^\| \d{3} /.test(piece), piece);
    assert.ok(open.length < 20);
  });

  it("holds every row of the table of statuses to the titles of tests", () => {
    if (!isHere(PROMISES)) return;
    const section = /## 5\. HTTP\n([\s\S]*?)\n## /.exec(readFileSync(PROMISES, "utf8"))?.[1] ?? "";
    const rows = statements(section).flatMap((line) => /^\| (\d{3}[^|]*?) \|/.exec(line)?.[1] ?? []);
    assert.deepEqual(
      rows,
      Object.keys(STATUSES).toSorted((a, b) => rows.indexOf(a) - rows.indexOf(b)),
    );
  });
});
