import { graphBackends } from "../support/backends.js";
import { testLargeProfile } from "../support/service/large-profile-tests.js";

testLargeProfile(graphBackends[0]!, { large: 100_000, small: 10_000, chain: 1_000 });
