import { SCALE } from "../support/random/random.js";
import { embeddedGraph } from "../support/backends.js";
import { testLargeProfile } from "../support/service/profiles/large-profile-tests.js";

const large = SCALE > 1 ? 100_000 : 20_000;

testLargeProfile(embeddedGraph, { large, small: large / 10, chain: 1_000 });
