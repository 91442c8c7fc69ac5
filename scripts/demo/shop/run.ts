import { openClient } from "../../shared/client.js";
import { withService, type DemoOptions } from "../run.js";
import { openApi } from "./api.js";
import { feed, setUp } from "./feed.js";
import { QUESTIONS, type Question } from "./questions.js";
import { peopleOf } from "./truth.js";
import { makeWorld } from "./world.js";

export interface ShopOptions extends Pick<DemoOptions, "server" | "onProgress"> {
  readonly events: number;
  readonly seed: number;
  readonly questions?: readonly Question[];
  readonly tell: (line: string) => void;
}

const REQUESTS_MAX = 10;
const ANSWER_MS = 60_000;

/** Feeds the shop and asks the questions. Answers what is wrong: nothing, if all goes well. */
export const runShop = (options: ShopOptions): Promise<readonly string[]> =>
  withService(options.server, async ({ url, key }) => {
    const { tell, onProgress } = options;
    const client = openClient(url, 4, ANSWER_MS);
    try {
      const world = makeWorld({ ...options, now: Date.now() });
      const people = peopleOf(world);
      const feeder = openApi(client, key);
      await setUp(feeder);
      const { retries } = await feed(feeder, world, onProgress);
      tell(
        `${world.events.length} events and ${retries} retries of ${people.size} people, ${world.customers.length} of them customers`,
      );
      const wrong: string[] = [];
      for (const { asks, ask } of options.questions ?? QUESTIONS) {
        const api = openApi(client, key);
        const { answer, problems } = await ask({ api, world, people });
        const requests = api.requests();
        const all = requests <= REQUESTS_MAX ? problems : [...problems, `it took ${requests} requests`];
        tell(
          `${asks} ${answer} (${requests} request${requests === 1 ? "" : "s"}) ${all.length === 0 ? "right" : "WRONG"}`,
        );
        for (const problem of all) tell(`  ${problem}`);
        wrong.push(...all.map((problem) => `${asks} ${problem}`));
      }
      return wrong;
    } finally {
      client.close();
    }
  });
