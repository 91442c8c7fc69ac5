import { SCALE } from "../support/random/random.js";
import { graphBackends } from "../support/backends.js";
import { testLargeProfile } from "../support/service/profiles/large-profile-tests.js";

const large = SCALE > 1 ? 100_000 : 20_000;

testLargeProfile(graphBackends[0]!, { large, small: large / 10, chain: 1_000 });
