import Mocha from "mocha";

const { EVENT_SUITE_BEGIN, EVENT_SUITE_END, EVENT_TEST_END, EVENT_TEST_FAIL, EVENT_TEST_RETRY, EVENT_RUN_END } =
  Mocha.Runner.constants;
const MARK = { true: "ok", false: "FAILED" } as const;

/**
 * One line for each outermost suite when it is over, and for each failure; those follow at the end, in full. A test that failed first and
 * then passed is named too, with what it said: it depends on how busy the machine is, or something is wrong.
 */
// oxlint-disable-next-line import/no-default-export -- the one form that mocha loads
export default class Lines extends Mocha.reporters.Base {
  constructor(runner: Mocha.Runner, options?: Mocha.MochaOptions) {
    super(runner, options);
    let depth = 0;
    let tests = 0;
    let failed = 0;
    let ms = 0;
    runner.on(EVENT_SUITE_BEGIN, (suite) => {
      if (!suite.root) depth += 1;
    });
    runner.on(EVENT_TEST_END, (test) => {
      tests += 1;
      ms += test.duration ?? 0;
      if (test.state === "failed") failed += 1;
    });
    runner.on(EVENT_TEST_FAIL, (test: Mocha.Test | Mocha.Hook, error: Error) => {
      Mocha.reporters.Base.consoleLog(`FAILED: ${test.fullTitle()}: ${firstLine(error)}`);
    });
    runner.on(EVENT_TEST_RETRY, (test: Mocha.Test, error: Error) => {
      Mocha.reporters.Base.consoleLog(`UNSTEADY ${test.fullTitle()}: ${firstLine(error)}`);
    });
    runner.on(EVENT_SUITE_END, (suite) => {
      if (suite.root) return;
      depth -= 1;
      if (depth > 0) return;
      const seconds = (ms / 1_000).toFixed(1).padStart(6);
      const mark = MARK[failed === 0 ? "true" : "false"].padEnd(6);
      Mocha.reporters.Base.consoleLog(`${mark} ${String(tests).padStart(4)} ${seconds} s  ${suite.title}`);
      [tests, failed, ms] = [0, 0, 0];
    });
    runner.once(EVENT_RUN_END, () => this.epilogue());
  }
}

const firstLine = ({ message }: Error): string => message.split("\n", 1)[0]!;
