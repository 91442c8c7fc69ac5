import { rulesWith, type World } from "../../support/house/pictures.js";
import { table } from "../../support/identity/rules-table.js";

/** It was sent with two already; one of them is linked. */
const KIOSK: World = { profiles: ["u:1 d:kiosk", "u:2"], seenWith: { "d:kiosk": "u:1 u:2" } };
table("A shared identifier limit of two user ids", rulesWith({ user_id: 10 }, 2), [
  {
    says: "both known, the shared identifier links no more",
    world: { ...KIOSK, profiles: ["u:1 d:kiosk", "u:3"] },
    asks: ["identify", "d:kiosk u:3"],
    outcome: "partial",
    kept: "u:3",
    dropped: ["d:kiosk shared_identifier"],
    seenWith: ["d:kiosk +u:1 u:2 u:3 shared_identifier"],
  },
  {
    says: "one known, the others are kept",
    world: KIOSK,
    asks: ["identify", "d:kiosk u:3 e:3"],
    outcome: "partial",
    kept: "u:3 e:3",
    dropped: ["d:kiosk shared_identifier"],
    seenWith: ["d:kiosk +u:1 u:2 u:3 shared_identifier"],
  },
  {
    says: "none known, who comes with too many at once is dropped and not created",
    asks: ["identify", "d:kiosk u:1 u:2 u:3"],
    outcome: "partial",
    kept: "u:1 u:2 u:3",
    dropped: ["d:kiosk shared_identifier"],
  },
  {
    says: "when all are shared identifiers the first is kept alone",
    asks: ["identify", "u:4 u:3 u:2 u:1"],
    outcome: "partial",
    kept: "u:1",
    dropped: ["u:2 shared_identifier", "u:3 shared_identifier", "u:4 shared_identifier"],
    seenWith: ["u:1 +u:4 u:3 u:2 shared_identifier"],
  },
  {
    says: "as many as the limit are no shared_identifier",
    world: KIOSK,
    asks: ["identify", "d:kiosk u:2"],
    outcome: "merged",
    kept: "d:kiosk u:2",
  },
  {
    says: "what stands stands",
    world: { ...KIOSK, seenWith: { "d:kiosk": "u:1 u:2 u:3" } },
    asks: ["identify", "d:kiosk u:1"],
    outcome: "unchanged",
    kept: "d:kiosk u:1",
  },
  {
    says: "alone it may always be seen",
    world: { ...KIOSK, seenWith: { "d:kiosk": "u:1 u:2 u:3" } },
    asks: ["identify", "d:kiosk"],
    outcome: "unchanged",
    kept: "d:kiosk",
  },
  {
    says: "both known, beside another facet it is dropped",
    world: { ...KIOSK, profiles: ["u:1 d:kiosk", "u:3"] },
    asks: ["event", "u:3 d:kiosk"],
    outcome: "partial",
    kept: "u:3",
    dropped: ["d:kiosk shared_identifier"],
    seenWith: ["d:kiosk +u:1 u:2 u:3 shared_identifier"],
  },
  {
    says: "the first that is not shared has the facet",
    world: KIOSK,
    asks: ["event", "d:kiosk u:3 e:3"],
    outcome: "partial",
    kept: "u:3 e:3",
    dropped: ["d:kiosk shared_identifier"],
    seenWith: ["d:kiosk +u:1 u:2 u:3 shared_identifier"],
  },
  {
    says: "none known, whoever comes with too many at once has no facet and is not created",
    asks: ["event", "d:kiosk u:1 u:2 u:3"],
    outcome: "partial",
    kept: "u:1 u:2 u:3",
    dropped: ["d:kiosk shared_identifier"],
  },
  {
    says: "both known, refused",
    world: { ...KIOSK, profiles: ["u:1 d:kiosk", "u:3"] },
    asks: ["alias", "d:kiosk u:3"],
    outcome: "refused",
    kept: "",
    rule: "shared_identifier",
    seenWith: ["d:kiosk +u:1 u:2 u:3 shared_identifier"],
  },
  {
    says: "one known, refused",
    world: KIOSK,
    asks: ["alias", "d:kiosk u:3"],
    outcome: "refused",
    kept: "",
    rule: "shared_identifier",
    seenWith: ["d:kiosk +u:1 u:2 u:3 shared_identifier"],
  },
  {
    says: "none known, two are never too many",
    asks: ["alias", "d:kiosk u:3"],
    outcome: "created",
    kept: "d:kiosk u:3",
  },
]);

table("A shared identifier limit beside a limit", rulesWith({ user_id: 1 }, 2), [
  {
    says: "what a limit keeps apart is counted, so that it is found out later",
    world: { profiles: ["u:ann d:tab", "u:bob"], seenWith: { "d:tab": "u:ann" } },
    asks: ["event", "d:tab u:bob"],
    outcome: "partial",
    kept: "d:tab",
    dropped: ["u:bob limit"],
    seenWith: ["d:tab +u:bob"],
  },
]);

table("A shared identifier limit and what a collect-only key says", rulesWith({ user_id: 1, email: 1 }, 2), [
  {
    says: "an e-mail address that it names with one login more stays with its person",
    world: { profiles: ["u:ann e:ann"], seenWith: { "e:ann": "u:ann u:1" } },
    asks: ["page", "u:3 e:ann"],
    outcome: "partial",
    kept: "u:3",
    dropped: ["e:ann limit"],
  },
  {
    says: "a login that it names with one address more, too",
    world: { profiles: ["u:ann e:ann"], seenWith: { "u:ann": "e:ann e:1" } },
    asks: ["page", "u:ann e:3"],
    outcome: "partial",
    kept: "u:ann",
    dropped: ["e:3 limit"],
  },
  {
    says: "a device that it names with one login more is shared",
    world: { profiles: ["u:1 d:kiosk"], seenWith: { "d:kiosk": "u:1 u:2" } },
    asks: ["page", "u:3 d:kiosk"],
    outcome: "partial",
    kept: "u:3",
    dropped: ["d:kiosk shared_identifier"],
    seenWith: ["d:kiosk +u:1 u:2 u:3 shared_identifier"],
  },
  {
    says: "an address that others named with too many is shared for it too",
    world: { profiles: ["u:1 e:info"], seenWith: { "e:info": "u:1 u:2 u:3" } },
    asks: ["page", "u:4 e:info"],
    outcome: "partial",
    kept: "u:4",
    dropped: ["e:info shared_identifier"],
    seenWith: ["e:info +u:1 u:2 u:3 shared_identifier"],
  },
]);

table("A shared identifier limit beside a limit of devices", rulesWith({ user_id: 1, device_id: 20 }, 2), [
  {
    says: "a person with more devices than that is no shared_identifier",
    asks: ["identify", "u:ann d:1 d:2 d:3"],
    outcome: "created",
    kept: "u:ann d:1 d:2 d:3",
  },
  {
    says: "a device with more logins than that is one",
    world: { profiles: ["u:1 d:kiosk"], seenWith: { "d:kiosk": "u:1 u:2" } },
    asks: ["identify", "u:3 d:kiosk"],
    outcome: "partial",
    kept: "u:3",
    dropped: ["d:kiosk shared_identifier"],
    seenWith: ["d:kiosk +u:1 u:2 u:3 shared_identifier"],
  },
]);
