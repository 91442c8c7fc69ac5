/** What a worker and a broker do with messages of which some kill the worker: names that begin with "p". */
export interface Law {
  readonly crashesOnReturn: (counted: number, returns: number) => number;
  readonly goesAlone: (message: { readonly crashes: number }) => boolean;
  /** Of those that go alone, by each worker. */
  readonly suspectsHeld: number;
}

type Place = "main" | "retry" | "suspects";
interface Message {
  readonly name: string;
  readonly crashes: number;
  readonly returns: number;
}
/** `moves`: it waits for its copy. `copied`: that is confirmed, and the original not yet acknowledged. */
type Stage = "waits" | "moves" | "copied" | "in hand";
interface Held {
  readonly from: Place;
  /** As the broker has it. */
  readonly message: Message;
  /** As this worker knows it. */
  readonly crashes: number;
  readonly stage: Stage;
}

export interface Broker {
  readonly places: Readonly<Record<Place, readonly Message[]>>;
  readonly workers: readonly (readonly Held[])[];
  /** Workers that may still be killed at any time. */
  readonly kills: number;
  /** Copies of which the original may still be there when its worker dies. */
  readonly tears: number;
  readonly folded: readonly string[];
  readonly letters: readonly string[];
}

export const newBroker = (names: readonly string[]): Broker => ({
  places: { main: names.map((name) => ({ name, crashes: 0, returns: 0 })), retry: [], suspects: [] },
  workers: [[], []],
  kills: 0,
  tears: 0,
  folded: [],
  letters: [],
});

const PLACES = ["main", "retry", "suspects"] as const;

/** All that may happen next. */
export function brokerMoves(broker: Broker, law: Law, crashesMax: number): readonly Broker[] {
  return broker.workers.flatMap((_, worker) => [
    ...PLACES.flatMap((from) => deliver(broker, worker, from, law)),
    ...copy(broker, worker, law),
    ...forget(broker, worker),
    ...start(broker, worker, law),
    ...end(broker, worker, crashesMax),
    ...(broker.kills > 0 ? [{ ...die(broker, worker), kills: broker.kills - 1 }] : []),
  ]);
}

const holding = (broker: Broker, worker: number, held: readonly Held[]): Broker => ({
  ...broker,
  workers: broker.workers.with(worker, held),
});
const heldBy = (broker: Broker, worker: number): readonly Held[] => broker.workers[worker]!;
const isMoving = ({ stage }: Held): boolean => stage === "moves" || stage === "copied";

function deliver(broker: Broker, worker: number, from: Place, law: Law): readonly Broker[] {
  const held = heldBy(broker, worker);
  const [message, ...others] = broker.places[from];
  const most = from === "suspects" ? law.suspectsHeld : Infinity;
  if (message === undefined || held.filter((one) => one.from === from).length >= most) return [];
  const isBack = message.returns > 0;
  const crashes = isBack ? law.crashesOnReturn(message.crashes, message.returns) : message.crashes;
  const moves = isBack || (from === "retry" && law.goesAlone({ crashes }));
  const taken: Held = { from, message, crashes, stage: moves ? "moves" : "waits" };
  return [{ ...holding(broker, worker, [...held, taken]), places: { ...broker.places, [from]: others } }];
}

function copy(broker: Broker, worker: number, law: Law): readonly Broker[] {
  const held = heldBy(broker, worker);
  const at = held.findIndex(({ stage }) => stage === "moves");
  if (at < 0) return [];
  const { message, crashes } = held[at]!;
  const to: Place = law.goesAlone({ crashes }) ? "suspects" : "retry";
  const places = { ...broker.places, [to]: [...broker.places[to], { name: message.name, crashes, returns: 0 }] };
  const copied = { ...holding(broker, worker, held.toSpliced(at, 1)), places };
  if (broker.tears === 0) return [copied];
  const torn = holding(broker, worker, held.with(at, { ...held[at]!, stage: "copied" }));
  return [copied, { ...torn, places, tears: broker.tears - 1 }];
}

function forget(broker: Broker, worker: number): readonly Broker[] {
  const held = heldBy(broker, worker);
  const at = held.findIndex(({ stage }) => stage === "copied");
  return at < 0 ? [] : [holding(broker, worker, held.toSpliced(at, 1))];
}

/** Either all that go together, or one that goes alone; a worker chooses by time. */
function start(broker: Broker, worker: number, law: Law): readonly Broker[] {
  const held = heldBy(broker, worker);
  if (held.some(({ stage }) => stage === "in hand")) return [];
  const taking = (is: (one: Held, at: number) => boolean): Broker =>
    holding(
      broker,
      worker,
      held.map((one, at) => (one.stage === "waits" && is(one, at) ? { ...one, stage: "in hand" } : one)),
    );
  const waiting = held.filter(({ stage }) => stage === "waits");
  const alone = held.findIndex((one) => one.stage === "waits" && law.goesAlone(one));
  return [
    ...(waiting.some((one) => !law.goesAlone(one)) ? [taking((one) => !law.goesAlone(one))] : []),
    ...(alone >= 0 && !held.some(isMoving) ? [taking((_, at) => at === alone)] : []),
  ];
}

function end(broker: Broker, worker: number, crashesMax: number): readonly Broker[] {
  const held = heldBy(broker, worker);
  const inHand = held.filter(({ stage }) => stage === "in hand");
  if (inHand.length === 0) return [];
  if (inHand.some(({ message, crashes }) => message.name.startsWith("p") && crashes <= crashesMax))
    return [die(broker, worker)];
  const left = holding(
    broker,
    worker,
    held.filter((one) => !inHand.includes(one)),
  );
  const namesOf = (isDead: boolean): readonly string[] =>
    inHand.filter(({ crashes }) => crashes > crashesMax === isDead).map(({ message }) => message.name);
  const join = (names: readonly string[], more: readonly string[]): readonly string[] =>
    [...new Set([...names, ...more])].toSorted();
  return [{ ...left, folded: join(broker.folded, namesOf(false)), letters: join(broker.letters, namesOf(true)) }];
}

/** The broker takes back all that the worker holds, to where it was. */
function die(broker: Broker, worker: number): Broker {
  const held = heldBy(broker, worker);
  const back = (from: Place): readonly Message[] =>
    held.filter((one) => one.from === from).map(({ message }) => ({ ...message, returns: message.returns + 1 }));
  const { main, retry, suspects } = broker.places;
  const places = {
    main: [...back("main"), ...main],
    retry: [...back("retry"), ...retry],
    suspects: [...back("suspects"), ...suspects],
  };
  return { ...holding(broker, worker, []), places };
}
