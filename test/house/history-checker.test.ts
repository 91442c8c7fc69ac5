import assert from "node:assert/strict";
import type { ProfileId, Uid } from "../../core/ids.js";
import { lettersOf } from "../support/identity/fixtures.js";
import { findingsOf, type Ending, type Entry, type History } from "../support/identity/history-checker.js";

/** Names are letters, and the order of letters is that of uids. */
const uidOf = (letter: string): Uid => `uid-${letter}` as Uid;

/** `a3`: the profile with the id of a, of three identifiers; `-`: never seen. */
const profileOf = (told: string): Entry["answers"][number]["profile"] =>
  told === "-" ? null : { id: uidOf(told[0]!), size: Number(told[1]) };

type Times = readonly [began: number, ended: number];

const entryOf = (kind: Entry["kind"], letters: string, [began, ended]: Times, rest: Partial<Entry>): Entry => ({
  kind,
  names: lettersOf(letters),
  forbidden: false,
  began,
  ended,
  ending: "ok",
  answers: [],
  ...rest,
});

const identify = (letters: string, times: Times, told: string): Entry =>
  entryOf("assert", letters, times, { answers: [{ name: letters[0]!, profile: profileOf(told) }] });
const unanswered = (letters: string, began: number): Entry =>
  entryOf("assert", letters, [began, Infinity], { ending: "info" });
/** What each letter's profile was told to be. */
const look = (told: Readonly<Record<string, string>>, times: Times): Entry =>
  entryOf("look", Object.keys(told).join(""), times, {
    answers: Object.entries(told).map(([name, answer]) => ({ name, profile: profileOf(answer) })),
  });
const unlink = (letters: string, times: Times, forbidden = false, ending: Ending = "ok"): Entry =>
  entryOf("unlink", letters, times, { forbidden, ending });

/** `"abc d"`: in the end a, b and c are one profile, and d another. */
function historyOf(entries: readonly Entry[], end: string, resolved: Readonly<Record<string, string>> = {}): History {
  const profiles = end.split(" ").map((letters) => ({
    id: uidOf(lettersOf(letters).toSorted()[0]!),
    members: lettersOf(letters).map((name) => ({ uid: uidOf(name), name })),
  }));
  const owners = profiles.flatMap(({ id, members }) => members.map(({ uid }): [ProfileId, ProfileId] => [uid, id]));
  const others = Object.entries(resolved).map(([from, to]): [ProfileId, ProfileId] => [uidOf(from), uidOf(to)]);
  return { entries, profiles, resolved: new Map([...owners, ...others]) };
}

const accepts = (...history: Parameters<typeof historyOf>): void =>
  assert.deepEqual(findingsOf(historyOf(...history)), []);
function rejects(why: RegExp, ...history: Parameters<typeof historyOf>): void {
  const findings = findingsOf(historyOf(...history));
  assert.ok(
    findings.some((finding) => why.test(finding)),
    `${why} is not among: ${findings.join("; ") || "nothing"}`,
  );
}

const AB = identify("ab", [0, 1], "a2");
const CD = identify("cd", [2, 3], "c2");

describe("The checker of histories", () => {
  it("accepts operations one after the other", () => {
    accepts([AB, CD, look({ a: "a2", d: "c2", x: "-" }, [4, 5]), identify("bc", [6, 7], "a4")], "abcd");
  });

  it("accepts either answer to what goes on at the same time", () => {
    const merge = identify("bc", [6, 9], "a4");
    for (const told of ["c2", "a4"]) accepts([AB, CD, merge, look({ d: told }, [7, 8])], "abcd");
    for (const told of ["-", "a2"]) accepts([identify("ab", [0, 3], "a2"), look({ a: told }, [1, 2])], "ab");
  });

  it("accepts what came to stand without an answer, and what did not", () => {
    for (const end of ["abcd", "ab cd"]) accepts([AB, CD, unanswered("bc", 4)], end);
    accepts([AB, CD, unanswered("bc", 4), look({ d: "a4" }, [8, 9])], "abcd");
  });

  it("rejects an answer that lacks what was acknowledged before", () => {
    rejects(/although a was surely joined/, [AB, CD, identify("bc", [4, 5], "b3")], "abcd");
    rejects(/although a was surely joined/, [AB, CD, identify("bc", [4, 5], "a4"), look({ d: "c2" }, [6, 7])], "abcd");
    rejects(/was never seen, after it was/, [AB, look({ b: "-" }, [2, 3])], "ab");
  });

  it("rejects an answer that is ahead of all that had begun", () => {
    const early = look({ d: "a4" }, [4, 5]);
    rejects(/nothing had joined/, [AB, CD, early, identify("bc", [6, 7], "a4")], "abcd");
    rejects(/nothing had joined/, [AB, CD, identify("xc", [4, 5], "a5")], "ab cdx");
  });

  it("rejects a size that no moment had", () => {
    rejects(/a size of 3/, [AB, look({ a: "a3" }, [2, 3])], "ab");
    rejects(/a size of 1/, [AB, look({ a: "a1" }, [2, 3])], "ab");
  });

  it("rejects an id that is nobody's, names nobody in the end, or somebody else", () => {
    rejects(/nobody's id/, [identify("ab", [0, 1], "z2")], "ab");
    rejects(/names nobody in the end/, [identify("ab", [0, 1], "z2")], "ab");
    rejects(/not the profile of a/, [AB, CD], "ab cd", { a: "c" });
    rejects(/somebody else than a/, [AB, look({ a: "c2" }, [2, 3]), CD], "ab cd");
  });

  it("rejects an end in which an acknowledged link is lost", () => {
    rejects(/b and c are apart in the end/, [AB, CD, identify("bc", [4, 5], "a4")], "ab cd");
    rejects(/b is in no profile/, [AB], "a");
  });

  it("rejects an end that joins what nobody joined", () => {
    rejects(/nothing joins a and d/, [AB, CD], "abcd");
  });

  it("rejects an identifier in two profiles, and an id that is not the smallest uid", () => {
    rejects(/b is in two profiles/, [AB, CD], "ab bcd");
    const history = historyOf([AB], "ab");
    const profiles = history.profiles.map((profile) => ({ ...profile, id: uidOf("b") }));
    assert.match(findingsOf({ ...history, profiles }).join(), /has the smallest uid/);
  });
});

describe("The checker of histories with unlinks", () => {
  const gone = unlink("ab", [4, 5]);

  it("accepts what was taken apart, and what a later claim joined again", () => {
    accepts([AB, gone, look({ a: "a1", b: "b1" }, [6, 7])], "a b");
    accepts([AB, gone, identify("ab", [6, 7], "a2")], "ab");
    accepts([AB, unlink("a", [4, 5])], "a b");
  });

  it("accepts either order of a claim and an unlink at the same time", () => {
    for (const end of ["ab", "a b"]) accepts([AB, gone, identify("ab", [4, 5], "a2")], end);
    for (const told of ["b1", "a2"]) accepts([AB, unlink("ab", [4, 9]), look({ b: told }, [5, 6])], "a b");
  });

  it("accepts that a refused unlink changed nothing", () => {
    accepts([AB, unlink("ab", [4, 5], true, "fail")], "ab");
  });

  it("rejects what still hangs together, in an answer and in the end", () => {
    rejects(/nothing had joined/, [AB, gone, look({ b: "a2" }, [6, 7])], "a b");
    rejects(/nothing joins a and b/, [AB, gone], "ab");
    rejects(/nothing joins a and b/, [AB, unlink("b", [4, 5])], "ab");
  });

  it("rejects an unlink that took more than its link", () => {
    rejects(/b and c are apart/, [identify("abc", [0, 1], "a3"), gone], "a b c");
  });

  it("rejects a forbidden pair in one profile", () => {
    rejects(/are forbidden/, [AB, unlink("ab", [4, 5], true), identify("ab", [6, 7], "a2")], "ab");
  });
});
