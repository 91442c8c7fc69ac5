import assert from "node:assert/strict";
import { eventually } from "../../support/eventually.js";
import { listAt, textAt, useApp, type TestWorkspace } from "../../support/service/app.js";

const GIVEN = "Ada@Example.com";
const IDENTIFIERS = [
  { namespace: "crm", value: GIVEN },
  { namespace: "cookie_id", value: "c-1" },
];

describe("A rule that names an identifier", () => {
  let normalizes: (() => Promise<void>) | null = null;
  const app = useApp(
    {},
    {
      wrap: (backends) => ({
        ...backends,
        audiences: {
          ...backends.audiences,
          changeAudiences: async (...given) => {
            await normalizes?.();
            return backends.audiences.changeAudiences(...given);
          },
        },
      }),
    },
  );
  let workspace: TestWorkspace;
  beforeEach(async () => {
    workspace = await app().workspace();
    assert.equal((await workspace.send("PUT", "/v1/namespaces/crm", {})).status, 201);
  });

  const normalize = async (): Promise<void> => {
    normalizes = null;
    assert.equal((await workspace.send("PUT", "/v1/namespaces/crm", { normalization: "email" })).status, 200);
  };
  const create = async (rule: object): Promise<string> => {
    const { status, body, text } = await workspace.send("POST", "/v1/audiences", { name: "Ada", rule });
    assert.equal(status, 201, text);
    return textAt(body, "audience_id");
  };
  const membersOf = async (audienceId: string) =>
    listAt((await workspace.send("GET", `/v1/audiences/${audienceId}/members`)).body, "members").length;

  it("finds who has it also where the normalization changed after it was stored, and by another rule", async () => {
    const [one, some] = [
      await create({ "identifiers.crm": GIVEN }),
      await create({ "identifiers.crm": { $in: [GIVEN] } }),
    ];
    const referring = await create({ $audience: one });
    await normalize();
    await workspace.send("POST", "/v1/identify", { identifiers: IDENTIFIERS });
    for (const audienceId of [one, some, referring])
      await eventually("it has her", async () => (await membersOf(audienceId)) === 1);
    for (const rule of [{ $audience: one }, { "identifiers.crm": GIVEN }]) {
      const { body } = await workspace.send("POST", "/v1/profiles/search", { rule });
      assert.equal(listAt(body, "profiles").length, 1);
    }
    assert.deepEqual((await workspace.send("GET", `/v1/audiences/${one}`)).body["rule"], { "identifiers.crm": GIVEN });
  });

  it("finds who has it where the normalization changes while it is stored", async () => {
    normalizes = normalize;
    const audienceId = await create({ "identifiers.crm": GIVEN });
    await workspace.send("POST", "/v1/identify", { identifiers: IDENTIFIERS });
    await eventually("it has her", async () => (await membersOf(audienceId)) === 1);
  });
});
