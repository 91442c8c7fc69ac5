/** How many long numbers the work makes: one for each decimal that is added up. */
export async function bigIntsOf(work: () => unknown): Promise<number> {
  const real = globalThis.BigInt;
  let made = 0;
  globalThis.BigInt = ((value: number) => {
    made += 1;
    return real(value);
  }) as typeof BigInt;
  try {
    await work();
    return made;
  } finally {
    globalThis.BigInt = real;
  }
}
