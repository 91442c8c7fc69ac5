import assert from "node:assert/strict";
import { openDocument } from "../../../core/schema/document.js";
import { checkSpelling } from "../../../core/schema/spelling.js";

const check = (schema: object) => checkSpelling(openDocument(schema as Readonly<Record<string, unknown>>));

/** A word that is not heeded -> the keyword that was meant. */
const MISSPELT: Readonly<Record<string, string>> = {
  requird: "required",
  requried: "required",
  requires: "required",
  minLenght: "minLength",
  minlength: "minLength",
  min_length: "minLength",
  maxLenght: "maxLength",
  propertis: "properties",
  aditionalPropertis: "additionalProperties",
  tpye: "type",
  types: "type",
  enums: "enum",
  item: "items",
  patern: "pattern",
  fromat: "format",
  anyof: "anyOf",
  ref: "$ref",
  defs: "$defs",
  descripton: "description",
  "x-identty": "x-identity",
  "x-idenity": "x-identity",
  "x-Identity": "x-identity",
  "x-trais": "x-trait",
};

const OWN =
  "id comment example examples title note notes x-anything-else x-examples x-deprecated x-enum x-type x-title x-format x-default x-items x-internal x-id x-pii x-identifier discriminator xml externalDocs " +
  "enumNames errorMessage tsType markdownDescription propertyOrder unit units label name version order group tags text time cost when " +
  "category owner sensitive options displayName min max unique value hint";

describe("The spelling of a schema", () => {
  for (const [word, keyword] of Object.entries(MISSPELT))
    it(`takes ${word} for ${keyword}`, () => {
      const { errors, warnings } = check({ properties: { a: { [word]: {} } } });
      const message = `is not a keyword; did you mean ${keyword}?`;
      assert.deepEqual(errors, [{ path: `schema.properties.a.${word}`, message }]);
      assert.deepEqual(warnings, []);
    });

  for (const [format, meant] of Object.entries({
    emial: "email",
    "E-Mail": "email",
    datetime: "date-time",
    Email: "email",
  }))
    it(`takes the format ${format} for ${meant}`, () => {
      const { errors } = check({ properties: { a: { type: "string", format } } });
      assert.deepEqual(errors, [
        { path: "schema.properties.a.format", message: `is not a format; did you mean ${meant}?` },
      ]);
    });

  it("lets formats of its own pass", () => {
    for (const format of "phone uuid4 int8 uint32 idn-email iri-reference mime currency time-local".split(" "))
      assert.deepEqual(check({ format }), { errors: [], warnings: [] }, format);
  });

  it("lets words of its own pass, and warns of those that are no keywords", () => {
    const words = OWN.split(" ");
    const { errors, warnings } = check({ items: Object.fromEntries(words.map((word) => [word, 1])) });
    assert.deepEqual(errors, []);
    const named = words.filter((word) => word !== "title" && word !== "examples");
    assert.deepEqual(
      warnings.map(({ path }) => path),
      named.map((word) => `schema.items.${word}`),
    );
    assert.equal(warnings[0]?.message, "is not a keyword, and is ignored");
  });

  it("is looked at where keywords stand, not in names, lists and values", () => {
    const words = { requird: {}, minLenght: {}, "x-identty": {}, own: {} };
    const schema = {
      properties: words,
      patternProperties: words,
      $defs: words,
      dependentSchemas: words,
      dependentRequired: { requird: ["requird"] },
      required: ["requird"],
      enum: [words],
      const: words,
      default: words,
      examples: [words],
      "x-trait": words,
    };
    assert.deepEqual(check(schema), { errors: [], warnings: [] });
  });

  it("warns of 100 words at most", () => {
    const words = Object.fromEntries(Array.from({ length: 150 }, (_, at) => [`x-own-${at}`, at]));
    assert.equal(check(words).warnings.length, 100);
  });
});
