/**
 * A contract is data: sentence -> check. So nothing can be registered and not run, and every backend runs every sentence.
 * `open` gives a fresh, empty port; `reopen` closes it and opens the same data again.
 */
export interface Bench<P> {
  readonly port: P;
  readonly reopen: () => Promise<P>;
}
export type Contract<P> = Readonly<Record<string, (bench: Bench<P>) => Promise<void>>>;

export interface Backend<P> {
  readonly name: string;
  /** Makes the place for one sentence: `open` may be called again after `close`, `drop` removes it all. */
  place(): Promise<{ open(): Promise<P>; drop(): Promise<void> }>;
}

export function runContract<P extends { close(): Promise<void> }>(
  title: string,
  contract: Contract<P>,
  backends: readonly Backend<P>[],
): void {
  for (const backend of backends)
    describe(`${title} on ${backend.name}`, () => {
      for (const [sentence, check] of Object.entries(contract))
        it(sentence, async () => {
          const place = await backend.place();
          let port = await place.open();
          const reopen = async (): Promise<P> => {
            await port.close();
            port = await place.open();
            return port;
          };
          try {
            await check({ port, reopen });
          } finally {
            await port.close();
            await place.drop();
          }
        });
    });
}
