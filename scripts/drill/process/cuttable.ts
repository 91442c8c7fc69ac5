import net, { type AddressInfo } from "node:net";

/** A way to a server that can be cut. `url` is the server's own address, with the host and port of this way. */
export async function openCuttable(serverUrl: string) {
  const target = new URL(serverUrl);
  const sockets = new Set<net.Socket>();
  let isCut = false;
  const way = net.createServer((inner) => {
    if (isCut) {
      inner.destroy();
      return;
    }
    const outer = net.connect(Number(target.port), target.hostname);
    for (const [from, to] of [
      [inner, outer],
      [outer, inner],
    ] as const) {
      sockets.add(from);
      from.on("error", () => {});
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  });
  await new Promise<void>((resolve) => way.listen(0, "127.0.0.1", resolve));
  const url = new URL(serverUrl);
  url.hostname = "127.0.0.1";
  url.port = String((way.address() as AddressInfo).port);
  const endAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: url.toString(),
    /** Ends all connections and takes no new one. */
    cut: (): void => {
      isCut = true;
      endAll();
    },
    restore: (): void => {
      isCut = false;
    },
    close: async (): Promise<void> => {
      endAll();
      await new Promise((resolve) => way.close(resolve));
    },
  };
}
