import { rulesWith, type World } from "../../support/house/pictures.js";
import { table } from "../../support/identity/rules-table.js";

const TAB_OF_ANN: World = { profiles: ["u:ann d:tab"] };
const TAB_AND_BOB: World = { profiles: ["u:ann d:tab", "u:bob"] };
/** A profile that was there before the limit. */
const TWO_LOGINS: World = { profiles: ["u:ann u:bob d:tab", "u:eve e:eve", "d:box"] };

table("A limit of one user id", rulesWith({ user_id: 1 }), [
  {
    says: "both known, the higher priority is kept",
    world: TAB_AND_BOB,
    asks: ["identify", "d:tab u:bob"],
    outcome: "partial",
    kept: "u:bob",
    dropped: ["d:tab limit"],
  },
  {
    says: "one known, the new one of higher priority is created alone",
    world: TAB_OF_ANN,
    asks: ["identify", "d:tab u:bob"],
    outcome: "partial",
    kept: "u:bob",
    dropped: ["d:tab limit"],
  },
  {
    says: "none known, the first by name is kept",
    asks: ["identify", "d:tab u:bob u:ann"],
    outcome: "partial",
    kept: "d:tab u:ann",
    dropped: ["u:bob limit"],
  },
  {
    says: "what fits goes on after what was dropped",
    world: TAB_AND_BOB,
    asks: ["identify", "e:ann u:bob d:tab c:1"],
    outcome: "partial",
    kept: "e:ann u:bob c:1",
    dropped: ["d:tab limit"],
  },
  {
    says: "within the limit nothing is dropped",
    world: TAB_OF_ANN,
    asks: ["identify", "d:tab e:ann"],
    outcome: "linked",
    kept: "d:tab e:ann",
  },
  {
    says: "both known, the facet is kept whatever the priorities",
    world: TAB_AND_BOB,
    asks: ["event", "d:tab u:bob"],
    outcome: "partial",
    kept: "d:tab",
    dropped: ["u:bob limit"],
  },
  {
    says: "one known, the dropped one is not created",
    world: TAB_OF_ANN,
    asks: ["event", "d:tab u:bob"],
    outcome: "partial",
    kept: "d:tab",
    dropped: ["u:bob limit"],
  },
  {
    says: "none known, the facet is kept and the others go by priority",
    asks: ["event", "u:bob d:tab u:ann"],
    outcome: "partial",
    kept: "u:bob d:tab",
    dropped: ["u:ann limit"],
  },
  {
    says: "both known, refused",
    world: TAB_AND_BOB,
    asks: ["alias", "d:tab u:bob"],
    outcome: "refused",
    kept: "",
    rule: "limit",
  },
  {
    says: "one known, refused and nothing created",
    world: TAB_OF_ANN,
    asks: ["alias", "d:tab u:bob"],
    outcome: "refused",
    kept: "",
    rule: "limit",
  },
  {
    says: "none known, refused and nothing created",
    asks: ["alias", "u:ann u:bob"],
    outcome: "refused",
    kept: "",
    rule: "limit",
  },
]);

table("A limit of two user ids", rulesWith({ user_id: 2 }), [
  {
    says: "as many as the limit are one person",
    world: TAB_AND_BOB,
    asks: ["alias", "d:tab u:bob"],
    outcome: "merged",
    kept: "d:tab u:bob",
  },
  {
    says: "one more is not",
    world: TAB_AND_BOB,
    asks: ["event", "d:tab u:eve u:bob"],
    outcome: "partial",
    kept: "d:tab u:bob",
    dropped: ["u:eve limit"],
  },
]);

table("A profile beyond a new limit", rulesWith({ user_id: 1 }), [
  {
    says: "a repeat is unchanged",
    world: TWO_LOGINS,
    asks: ["alias", "u:ann u:bob"],
    outcome: "unchanged",
    kept: "u:ann u:bob",
  },
  {
    says: "a link within it is no join",
    world: { ...TWO_LOGINS, removed: { "u:ann u:bob": 50 } },
    asks: ["alias", "u:ann u:bob"],
    outcome: "linked",
    kept: "u:ann u:bob",
  },
  {
    says: "it takes in what brings no user id",
    world: TWO_LOGINS,
    asks: ["identify", "d:tab d:box c:1"],
    outcome: "merged",
    kept: "d:tab d:box c:1",
  },
  {
    says: "it takes in no profile that has one",
    world: TWO_LOGINS,
    asks: ["event", "d:tab e:eve"],
    outcome: "partial",
    kept: "d:tab",
    dropped: ["e:eve limit"],
  },
]);

const FOES: World = { profiles: ["u:ann d:1", "u:bob d:2"], forbiddenPairs: ["u:ann u:bob"] };
table("A forbidden pair", rulesWith(), [
  {
    says: "both known, the first by name is kept",
    world: FOES,
    asks: ["identify", "u:bob u:ann"],
    outcome: "partial",
    kept: "u:ann",
    dropped: ["u:bob forbidden_pair"],
  },
  {
    says: "over others it is kept apart too",
    world: FOES,
    asks: ["identify", "d:2 d:1 e:x"],
    outcome: "partial",
    kept: "d:1 e:x",
    dropped: ["d:2 forbidden_pair"],
  },
  {
    says: "one known, each side goes on alone",
    world: FOES,
    asks: ["identify", "d:2 d:9"],
    outcome: "linked",
    kept: "d:2 d:9",
  },
  { says: "none known, nothing stands against it", asks: ["identify", "u:x u:y"], outcome: "created", kept: "u:x u:y" },
  {
    says: "the facet is kept",
    world: FOES,
    asks: ["event", "d:2 u:ann c:1"],
    outcome: "partial",
    kept: "d:2 c:1",
    dropped: ["u:ann forbidden_pair"],
  },
  {
    says: "refused",
    world: FOES,
    asks: ["alias", "u:ann u:bob"],
    outcome: "refused",
    kept: "",
    rule: "forbidden_pair",
  },
  {
    says: "refused over others",
    world: FOES,
    asks: ["alias", "d:1 d:2"],
    outcome: "refused",
    kept: "",
    rule: "forbidden_pair",
  },
  { says: "one known, linked", world: FOES, asks: ["alias", "d:1 u:new"], outcome: "linked", kept: "d:1 u:new" },
]);

table("A forbidden pair beside a limit", rulesWith({ user_id: 1 }), [
  {
    says: "is named first",
    world: FOES,
    asks: ["alias", "d:1 d:2"],
    outcome: "refused",
    kept: "",
    rule: "forbidden_pair",
  },
  {
    says: "is named first",
    world: FOES,
    asks: ["event", "d:1 u:bob"],
    outcome: "partial",
    kept: "d:1",
    dropped: ["u:bob forbidden_pair"],
  },
]);

const TWO_CUSTOMERS: World = { profiles: ["u:ann e:ann d:tab", "u:bob d:box", "e:eve c:1", "c:2"] };

table("The scope of a collect-only key, without limits", rulesWith(), [
  {
    says: "a visitor becomes a customer: what was anonymous joins",
    world: TWO_CUSTOMERS,
    asks: ["page", "u:bob c:2"],
    outcome: "merged",
    kept: "u:bob c:2",
  },
  {
    says: "a customer says more about himself: a value of a namespace that he had none of joins",
    world: TWO_CUSTOMERS,
    asks: ["page", "u:bob e:bob"],
    outcome: "linked",
    kept: "u:bob e:bob",
  },
  {
    says: "two customers are not joined, also not by what one of them has beside",
    world: TWO_CUSTOMERS,
    asks: ["page", "u:bob e:ann"],
    outcome: "partial",
    kept: "u:bob",
    dropped: ["e:ann scope"],
  },
  {
    says: "nor by their devices alone",
    world: TWO_CUSTOMERS,
    asks: ["page", "d:box d:tab"],
    outcome: "partial",
    kept: "d:box",
    dropped: ["d:tab scope"],
  },
  {
    says: "somebody who logs in on a customer's device does not become that customer",
    world: TWO_CUSTOMERS,
    asks: ["page", "u:new d:tab"],
    outcome: "partial",
    kept: "u:new",
    dropped: ["d:tab scope"],
  },
  {
    says: "a customer gets no second value of a person's namespace, and goes on with the rest",
    world: TWO_CUSTOMERS,
    asks: ["page", "u:ann e:new d:tab c:2"],
    outcome: "partial",
    kept: "u:ann d:tab c:2",
    dropped: ["e:new scope"],
  },
  {
    says: "what is linked already stays linked",
    world: { profiles: ["u:ann u:bob"] },
    asks: ["page", "u:ann u:bob"],
    outcome: "unchanged",
    kept: "u:ann u:bob",
  },
  {
    says: "an event of another key is not bound by it",
    world: TWO_CUSTOMERS,
    asks: ["event", "u:bob e:ann"],
    outcome: "merged",
    kept: "u:bob e:ann",
  },
]);

table("The scope of a collect-only key, beside a limit", rulesWith({ user_id: 1 }), [
  {
    says: "the limit is named where both forbid it",
    world: TWO_CUSTOMERS,
    asks: ["page", "u:bob u:ann"],
    outcome: "partial",
    kept: "u:bob",
    dropped: ["u:ann limit"],
  },
]);
