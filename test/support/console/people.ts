import assert from "node:assert/strict";
import { textAt, type TestWorkspace } from "../service/app.js";

/** What a sender may write to harm whoever looks at it; none of it may do more than stand there. */
export const INJECTIONS: readonly string[] = [
  `<script>document.title='pwned'</script>`,
  `"><img src=x onerror="document.title='pwned'">`,
  `<svg/onload=document.title='pwned'>`,
  `javascript:document.title='pwned'`,
  `' onmouseover='document.title="pwned"' x='`,
  "{{constructor.constructor('document.title=1')()}}",
  "</textarea></title><iframe src=https://example.com>",
  "&lt;b&gt;&#x202e;",
  "#/keys?x=%0a%00%ff",
  "a\u202Egnp.exe\u2066 \u200f\u0007\u0000",
  "مرحبا بالعالم العربي — שלום",
  "👩‍👩‍👧‍👦 e\u0301 Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢",
  `<b>${"long ".repeat(203)}</b>`,
  "W".repeat(1_024),
];

export const id = (namespace: string, value: string) => ({ namespace, value });

/** A person of a shop: two identifiers by a call, an event that brings a third and some traits. */
export async function aPerson(workspace: TestWorkspace, name: string) {
  const schemaId = await workspace.schema();
  const email = `${name}@example.com`;
  const linked = await workspace.send("POST", "/v1/identify", {
    identifiers: [id("user_id", name), id("email", email)],
  });
  const sent = await workspace.collect(schemaId, { email, cookie: `cookie-${name}`, city: "Lyon" });
  const eventId = textAt((await workspace.settled(sent.body["event_id"])).body, "event_id");
  return {
    profileId: textAt(linked.body, "profile_id"),
    changeId: textAt(linked.body, "change_id"),
    email,
    schemaId,
    eventId,
  };
}

/**
 * Two who used one kiosk: no link is a bridge, and only the kiosk holds `ada` and `bob` together. Between `ada` and the kiosk there are two
 * ways, of two links each.
 */
export async function aKiosk(workspace: TestWorkspace): Promise<void> {
  const [ada, bob, kiosk] = [id("user_id", "ada"), id("user_id", "bob"), id("device_id", "kiosk-7")];
  const [phone, laptop, tablet] = ["phone", "laptop", "tablet"].map((name) => id("device_id", name));
  await identify(workspace, ada, phone!);
  await identify(workspace, phone!, kiosk);
  await identify(workspace, ada, laptop!);
  await identify(workspace, laptop!, kiosk);
  await identify(workspace, bob, tablet!);
  await identify(workspace, tablet!, kiosk);
  await identify(workspace, bob, kiosk);
}

/** Puts these into one profile. */
export async function identify(
  workspace: TestWorkspace,
  ...identifiers: readonly { namespace: string; value: string }[]
) {
  const answer = await workspace.send("POST", "/v1/identify", { identifiers });
  assert.equal(answer.status, 200, answer.text);
  return { profileId: textAt(answer.body, "profile_id"), changeId: textAt(answer.body, "change_id") };
}
