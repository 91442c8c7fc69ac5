import assert from "node:assert/strict";
import { identifierKey } from "../../../core/event/event.js";
import { createHiddenKeys } from "../../../graph/rules/hidden-keys.js";
import { tombOf } from "../../support/builders.js";
import { anIdentifier, aWorkspace } from "../../support/identity/fixtures.js";

const { hide, show } = createHiddenKeys(tombOf);
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
    assert.deepEqual(show([hide(phone), phone, hide(tablet)], [phone]), [phone, hide(tablet)]);
  });

  it("hide no key that is known, of whatever namespace the others are", () => {
    assert.deepEqual(show([hide(phone), tablet, cookie], [cookie]), [hide(phone), hide(tablet), cookie]);
  });

  it("make one of what is linked and what was kept apart", () => {
    assert.deepEqual(show([hide(other), other, cookie], []), [hide(other), hide(cookie)]);
  });

  it("leave a list without any as it is", () => {
    assert.deepEqual(show([cookie, other, cookie], []), [cookie, other]);
  });
});
