/**
 * The documents that the official suite expects at `http://localhost:1234/`, written anew from what its cases ask of them, so that
 * cases with remote references can be answered without a socket.
 */
type Remotes = Readonly<Record<string, object>>;

const integer = { type: "integer" };
const string = { type: "string" };
const fooIsString = { type: "object", properties: { foo: { $ref: "string.json" } } };

const draft07: Remotes = {
  "integer.json": integer,
  "baseUriChange/folderInteger.json": integer,
  "baseUriChangeFolder/folderInteger.json": integer,
  "baseUriChangeFolderInSubschema/folderInteger.json": integer,
  "nested/string.json": string,
  "nested/foo-ref-string.json": fooIsString,
  "draft7/subSchemas.json": { definitions: { integer, refToInteger: { $ref: "#/definitions/integer" } } },
  "draft7/name.json": { definitions: { orNull: { anyOf: [{ type: "null" }, { $ref: "#" }] } }, ...string },
  "draft7/ref-and-definitions.json": {
    $id: "http://localhost:1234/draft7/ref-and-definitions.json",
    definitions: { inner: { properties: { bar: string } } },
    allOf: [{ $ref: "#/definitions/inner" }],
  },
  "draft7/locationIndependentIdentifier.json": {
    definitions: { refToInteger: { $ref: "#foo" }, A: { $id: "#foo", ...integer } },
  },
  "draft7/detached-ref.json": {
    $id: "http://localhost:1234/draft7/detached-ref.json",
    definitions: { foo: { $ref: "#detached" }, detached: { $id: "#detached", ...integer } },
  },
};

const draft2020: Remotes = {
  "integer.json": integer,
  "baseUriChange/folderInteger.json": integer,
  "baseUriChangeFolder/folderInteger.json": integer,
  "baseUriChangeFolderInSubschema/folderInteger.json": integer,
  "nested/string.json": string,
  "nested/foo-ref-string.json": fooIsString,
  "subSchemas.json": { $defs: { integer, refToInteger: { $ref: "#/$defs/integer" } } },
  "name-defs.json": { $defs: { orNull: { anyOf: [{ type: "null" }, { $ref: "#" }] } }, ...string },
  "ref-and-defs.json": {
    $id: "http://localhost:1234/draft2020-12/ref-and-defs.json",
    $defs: { inner: { properties: { bar: string } } },
    $ref: "#/$defs/inner",
  },
  "locationIndependentIdentifier.json": {
    $defs: { refToInteger: { $ref: "#foo" }, A: { $anchor: "foo", ...integer } },
  },
  "different-id-ref-string.json": {
    $id: "http://localhost:1234/real-id-ref-string.json",
    $defs: { bar: string },
    $ref: "#/$defs/bar",
  },
  "urn-ref-string.json": {
    $id: "urn:uuid:feebdaed-ffff-0000-ffff-0000deadbeef",
    $defs: { bar: string },
    $ref: "#/$defs/bar",
  },
  "nested-absolute-ref-to-string.json": {
    $defs: { bar: { $id: "http://localhost:1234/the-nested-id.json", ...string } },
    $ref: "http://localhost:1234/the-nested-id.json",
  },
  "detached-ref.json": {
    $id: "http://localhost:1234/draft2020-12/detached-ref.json",
    $defs: { foo: { $ref: "#detached" }, detached: { $anchor: "detached", ...integer } },
  },
  "detached-dynamicref.json": {
    $id: "http://localhost:1234/draft2020-12/detached-dynamicref.json",
    $defs: { foo: { $dynamicRef: "#detached" }, detached: { $dynamicAnchor: "detached", ...integer } },
  },
  "tree.json": {
    $id: "http://localhost:1234/draft2020-12/tree.json",
    $dynamicAnchor: "node",
    type: "object",
    properties: { data: true, children: { type: "array", items: { $dynamicRef: "#node" } } },
  },
  "extendible-dynamic-ref.json": {
    $id: "http://localhost:1234/draft2020-12/extendible-dynamic-ref.json",
    type: "object",
    properties: { elements: { type: "array", items: { $dynamicRef: "#elements" } } },
    required: ["elements"],
    additionalProperties: false,
    $defs: { elements: { $dynamicAnchor: "elements" } },
  },
};

const at = (base: string, remotes: Remotes): Remotes =>
  Object.fromEntries(Object.entries(remotes).map(([path, schema]) => [`http://localhost:1234/${base}${path}`, schema]));

export const REMOTES: Readonly<Record<"draft7" | "draft2020-12", Remotes>> = {
  draft7: at("", draft07),
  "draft2020-12": at("draft2020-12/", draft2020),
};
