/** `finally` whose own failure does not hide the first one. */
export async function andThen<T>(use: () => Promise<T>, close: () => Promise<void>): Promise<T> {
  let result: T;
  try {
    result = await use();
  } catch (error) {
    await close().catch(() => undefined);
    throw error;
  }
  await close();
  return result;
}
