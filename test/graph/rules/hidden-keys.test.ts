import assert from "node:assert/strict";
import { identifierKey } from "../../../core/event/event.js";
import { createHiddenKeys } from "../../../graph/rules/hidden-keys.js";
import { tombOf } from "../../support/builders.js";
import { anIdentifier, aWorkspace } from "../../support/identity/fixtures.js";

const { hide, showing } = createHiddenKeys(tombOf);
const workspace = aWorkspace();
const keyOf = (namespace: string, value: string) => identifierKey(workspace, anIdentifier(value, namespace));
const [phone, tablet, cookie, other] = [
  keyOf("device_id", "phone"),
  keyOf("device_id", "tablet"),
  keyOf("cookie_id", "c"),
  keyOf("cookie_id", "d"),
];

describe("Hidden keys", () => {
  it("are shown as the known key that they hide, and counted once with it", () => {
    assert.deepEqual(showing([phone])([hide(phone), phone, hide(tablet)]), [phone, hide(tablet)]);
  });

  it("hide no key that is known, of whatever namespace the others are", () => {
    assert.deepEqual(showing([cookie])([hide(phone), tablet, cookie]), [hide(phone), hide(tablet), cookie]);
  });

  it("make one of what is linked and what was kept apart", () => {
    assert.deepEqual(showing([])([hide(other), other, cookie]), [hide(other), hide(cookie)]);
  });

  it("hide each known key once, for any number of lists", () => {
    let asked = 0;
    const counted = createHiddenKeys((key) => {
      asked += 1;
      return tombOf(key);
    });
    const all = Array.from({ length: 100 }, (_, i) => keyOf("device_id", `${i}`));
    const shown = counted.showing(all);
    assert.deepEqual(
      all.map((key) => shown([hide(key)])),
      all.map((key) => [key]),
    );
    assert.equal(asked, all.length);
  });

  it("leave a list without any as it is", () => {
    assert.deepEqual(showing([])([cookie, other, cookie]), [cookie, other]);
  });
});
