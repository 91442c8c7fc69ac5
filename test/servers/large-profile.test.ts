import { testLargeProfile } from "../support/service/profiles/large-profile-tests.js";
import { neo4jBackend, neo4jUnderTest } from "../support/servers/neo4j-backend.js";

/** `LARGE_PROFILE=100000 npm run test:servers` is what a release is tried with. */
const large = Number(process.env["LARGE_PROFILE"] ?? 30_000);

testLargeProfile(neo4jBackend(neo4jUnderTest()), { large, small: 10_000, chain: 1_000 });
