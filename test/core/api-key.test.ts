import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { hashKey, keyIdOf, mintKey } from "../../core/catalog/api-key.js";

const FORM = /^onym_([0-9A-Za-z]{10})_([0-9A-Za-z]{32})([0-9A-Za-z]{6})$/;

describe("An API key", () => {
  it("is onym_<id 10>_<secret 32><checksum 6> in base 62", () => {
    for (let i = 0; i < 200; i++) {
      const { key, keyId } = mintKey();
      assert.equal(FORM.exec(key)?.[1], keyId, key);
    }
  });

  it("is kept as the SHA-256 of the whole key and nothing else", () => {
    const { key, hash } = mintKey();
    assert.equal(hash, createHash("sha256").update(key).digest("base64"));
    assert.equal(hashKey(key), hash);
  });

  it("never comes twice, neither its id nor its secret", () => {
    const keys = Array.from({ length: 2_000 }, () => FORM.exec(mintKey().key)!);
    assert.equal(new Set(keys.map((parts) => parts[1])).size, keys.length);
    assert.equal(new Set(keys.map((parts) => parts[2])).size, keys.length);
  });

  it("tells its id without a look-up", () => {
    const { key, keyId } = mintKey();
    assert.equal(keyIdOf(key), keyId);
  });

  it("with any one character mistyped is known to be wrong without a look-up", () => {
    const { key } = mintKey();
    for (let i = 0; i < key.length; i++)
      for (const typed of ["a", "Z", "0", "_", " "])
        if (key[i] !== typed) assert.equal(keyIdOf(key.slice(0, i) + typed + key.slice(i + 1)), null, `position ${i}`);
  });

  it("with two neighbours swapped is known to be wrong without a look-up", () => {
    const { key } = mintKey();
    for (let i = 0; i < key.length - 1; i++) {
      const swapped = key.slice(0, i) + key[i + 1]! + key[i]! + key.slice(i + 2);
      if (swapped !== key) assert.equal(keyIdOf(swapped), null, swapped);
    }
  });

  it("of another form is no key", () => {
    const { key } = mintKey();
    const wrong = ["", "onym_", key.slice(1), key.slice(0, -1), `${key}0`, ` ${key}`, `${key}\n`, key.toUpperCase()];
    for (const text of wrong) assert.equal(keyIdOf(text), null, text);
  });
});
