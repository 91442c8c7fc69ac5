import assert from "node:assert/strict";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { Json } from "../../../gateway/openapi/operation.js";
import { documentOf } from "../../../gateway/openapi/document.js";
import { route, reply, type Route } from "../../../gateway/route.js";
import { WRITE_KEY_SHOWN } from "../../../gateway/shapes/examples.js";
import { createWalk, operationsOf, type Operation } from "../../../scripts/fuzz/walk.js";
import { answersOf } from "../../../gateway/shapes/answers.js";
import { at, listAt, OPERATOR_KEY, until, useApp, type Caller } from "../../support/service/app.js";
import { ROWS } from "../../support/service/check-answer.js";

/** Every schema of the document, with where it stands. */
function schemasOf(value: unknown, place = ""): readonly (readonly [string, object])[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    name === "schema"
      ? [[`${place}/schema`, inner as object] as const]
      : name === "example"
        ? []
        : schemasOf(inner, `${place}/${name}`),
  );
}

const referencesOf = (value: unknown): readonly string[] =>
  typeof value !== "object" || value === null
    ? []
    : Object.entries(value).flatMap(([name, inner]) => (name === "$ref" ? [String(inner)] : referencesOf(inner)));

/** What the reference of a row lacks, in words. */
function lacks(rows: readonly Route[]): readonly string[] {
  const ids = rows.map(({ operationId }) => operationId);
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true });
  return rows.flatMap((row) => {
    const { operationId, summary, params = {}, query = {}, body, bodyIs, example } = row;
    const wrong: string[] = [];
    const hold = (holds: boolean, what: string): void => void (holds || wrong.push(`${operationId}: ${what}`));
    hold(/^[a-z]+([A-Z][a-z]*)*$/.test(operationId), "its operationId is no name");
    hold(ids.filter((id) => id === operationId).length === 1, "another row has its operationId");
    hold(/^[A-Z].{5,}[^.]$/.test(summary), "its summary is no short sentence without a full stop");
    const given = Object.keys(example.params ?? {});
    hold(given.toSorted().join() === Object.keys(params).toSorted().join(), "its example is not of its path");
    hold(
      Object.keys(example.query ?? {}).every((name) => name in query),
      "its example has another query",
    );
    hold(body === undefined || bodyIs === "optional" || example.body !== undefined, "its example has no body");
    if (body !== undefined && example.body !== undefined)
      hold(ajv.compile(body)(example.body), `its example does not match its body: ${ajv.errorsText()}`);
    for (const before of example.after ?? []) hold(ids.includes(before), `there is no operation ${before}`);
    return wrong;
  });
}

const basic = (key: string): string => `Basic ${Buffer.from(`${key}:`).toString("base64")}`;

describe("GET /openapi.json", () => {
  const app = useApp();
  const sendAsSdk = ({ method, body }: Operation, target: string, key: string) =>
    app().send(method, target.replace(WRITE_KEY_SHOWN, key), { body, headers: { Authorization: basic(key) } });
  let document: Json;
  before(async () => {
    document = (await app().send("GET", "/openapi.json")).body;
  });

  it("is the document of the running routes, without a key", async () => {
    assert.equal(document["openapi"], "3.1.0");
    const answer = await app().send("GET", "/openapi.json");
    assert.deepEqual([answer.status, answer.headers["content-type"]], [200, "application/json; charset=utf-8"]);
    const described = operationsOf(document).map(({ method, path }) => `${method} ${path}`);
    const rows = ROWS.map(({ method, path }) => `${method.toUpperCase()} ${path.replaceAll(/:(\w+)/g, "{$1}")}`);
    assert.deepEqual(described.toSorted(), rows.toSorted());
  });

  it("describes every operation: name, group, summary, role, answers", () => {
    const tags = new Set(listAt(document, "tags").map((tag) => at(tag, "name")));
    for (const { operationId, path, method, role, security } of operationsOf(document)) {
      const described = (document["paths"] as Json)[path] as Json;
      const operation = described[method.toLowerCase()] as Json;
      assert.ok(tags.has(listAt(operation, "tags")[0]), operationId);
      assert.match(
        String(operation["description"]),
        /Needs (a key of role \*\*|a \*\*collect-only key|the \*\*operator key|no key)/,
        operationId,
      );
      assert.equal(security === "apiKey", role !== null, operationId);
      const statuses = Object.keys(operation["responses"] as Json).map(Number);
      assert.ok(
        statuses.some((status) => status < 300),
        operationId,
      );
      // SDKs are never told 503.
      const always = security === "writeKey" ? [400, 413, 500] : [400, 500, 503];
      for (const status of [...always, ...(security === null ? [] : [401, 429])])
        assert.ok(statuses.includes(status), `${operationId}: ${status}`);
    }
  });

  it("has only schemas that a validator takes, and only references to what is there", () => {
    const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
    const schemas = schemasOf(document);
    assert.ok(schemas.length > 80, `${schemas.length} schemas`);
    for (const [place, schema] of schemas) assert.doesNotThrow(() => ajv.compile(schema), place);
    const references = new Set(referencesOf(document));
    assert.ok(references.has("#/components/responses/Unauthorized"));
    for (const reference of references)
      assert.ok(at(document, reference.slice(2).replaceAll("/", ".")) !== undefined, reference);
  });

  it("names the ETag of each answer that has one, of all that If-Match may be sent to", () => {
    const named = operationsOf(document).flatMap(({ operationId, path, method }) => {
      const { responses } = ((document["paths"] as Json)[path] as Json)[method.toLowerCase()] as {
        readonly responses: Json;
      };
      const statuses = Object.entries(responses).filter(([, answer]) => at(answer, "headers.ETag") !== undefined);
      return statuses.map(([status]) => `${operationId} ${status}`);
    });
    const conditional = ROWS.filter(({ responses }) => 412 in responses).map(({ path }) => path);
    const readable = ROWS.filter(({ path, hasEtag }) => hasEtag === true && conditional.includes(path));
    assert.deepEqual(new Set(readable.map(({ path }) => path)), new Set(conditional));
    assert.ok(
      ["getAudience 200", "putNamespace 201", "erase 200"].every((one) => named.includes(one)),
      named.join(),
    );
  });

  it("names the headers of a rate limit, and what an omitted member of a body stands for", () => {
    const { headers } = at(document, "components.responses.TooManyRequests") as { readonly headers: Json };
    assert.deepEqual(Object.keys(headers), ["Retry-After", "RateLimit", "RateLimit-Policy"]);
    for (const [path, member, value] of [
      ["/v1/datasets", "unified_profile", false],
      ["/v1/erasures", "suppress", false],
      ["/v1/schemas", "compatibility", "backward"],
    ] as const) {
      const schema = `paths.${path}.post.requestBody.content.application/json.schema.properties.${member}`;
      assert.equal(at(document, `${schema}.default`), value, member);
    }
  });

  it("gives every answer of every row its own schema", () => {
    for (const row of ROWS) {
      const path = row.path.replaceAll(/:(\w+)/g, "{$1}");
      const { responses } = ((document["paths"] as Json)[path] as Json)[row.method] as { readonly responses: Json };
      for (const [status, schema] of Object.entries(answersOf(row))) {
        const given = responses[status] as Json;
        const reference = given["$ref"] as string | undefined;
        const answer = reference === undefined ? given : at(document, reference.slice(2).replaceAll("/", "."));
        const [content] = Object.values((at(answer, "content") ?? {}) as Json);
        const expected = schema === null ? undefined : (JSON.parse(JSON.stringify(schema)) as unknown);
        const place =
          row.answersEvents === true && status === "200" ? "schema.anyOf.0.properties.data.contentSchema" : "schema";
        assert.deepEqual(at(content, place), expected, `${row.operationId} ${status}`);
      }
    }
  });

  it("has an example of every operation that is answered 2xx, called in an order with nothing but the least key", async () => {
    const workspace = await app().workspace();
    const keyFor = async ({ security, role }: Pick<Operation, "security" | "role">): Promise<string | null> => {
      if (security === "operatorKey") return OPERATOR_KEY;
      return security === null ? null : workspace.key(role as Caller);
    };
    const walk = createWalk(document, async ({ operation, target }) =>
      operation.security === "writeKey"
        ? sendAsSdk(operation, target, await workspace.key("collect"))
        : app().send(operation.method, target, { key: await keyFor(operation), body: operation.body }),
    );
    assert.equal(walk.operations.length, ROWS.length);
    await until(
      () => app().send("GET", "/readyz"),
      ({ status }) => status === 200,
    );
    for (const { operationId } of walk.operations) {
      const { status, text } = await walk.call(operationId);
      assert.ok(status >= 200 && status < 300, `${operationId}: ${status} ${text}`);
    }
  });
});

describe("The rows of the routes", () => {
  const good = route({
    method: "post",
    path: "/v1/things",
    operationId: "createThing",
    tag: "Manage",
    summary: "Make a thing",
    example: { body: {} },
    access: { kind: "open" },
    body: { type: "object" },
    responses: { 200: { type: "object" } },
    handle: async () => reply(200, {}),
  });

  it("all have what the reference needs", () => {
    assert.deepEqual(lacks(ROWS), []);
    assert.deepEqual(lacks([good]), []);
  });

  it("are refused without a name, a summary or an example that fits", () => {
    const refused: readonly Partial<Route>[] = [
      { operationId: "" },
      { operationId: "Create a thing" },
      { summary: "" },
      { example: {} },
      { example: { body: 7 } },
      { example: { body: {}, params: { id: "x" } } },
      { example: { body: {}, query: { wait: 1 } } },
      { example: { body: {}, after: ["nothing"] } },
    ];
    for (const part of refused) assert.equal(lacks([{ ...good, ...part }]).length, 1, JSON.stringify(part));
    assert.equal(lacks([good, good]).length, 2);
  });

  it("name an answer that has the id which an example takes out of it", () => {
    const taken = { operationId: "createThing", pointer: "/thing_id", shown: "t-1" };
    assert.throws(() => documentOf([{ ...good, example: { params: { id: taken } } }]), /no answer of createThing has/);
  });
});
