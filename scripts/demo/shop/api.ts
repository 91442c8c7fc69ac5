import { requireAnswer, type Answer, type Client, type Request } from "../../shared/client.js";

export interface Identifier {
  readonly namespace: string;
  readonly value: string;
}

export interface Profile {
  readonly profile_id: string;
  readonly identifiers: readonly Identifier[];
  readonly traits: Readonly<Record<string, unknown>>;
  readonly event_count: number;
}

/** The API with one key. It counts its requests. */
export interface Api {
  get<T>(path: string): Promise<T>;
  post<T>(path: string, body: object, status?: number): Promise<T>;
  put(path: string, body: object): Promise<void>;
  raw(request: Omit<Request, "key">): Promise<Answer>;
  /** All answers of a list that is asked for by a body. */
  pages<T extends { readonly next_cursor: string | null }>(path: string, body: object): Promise<readonly T[]>;
  requests(): number;
}

export function openApi(client: Client, key: string): Api {
  let requests = 0;
  const ask = <T>(status: number, request: Omit<Request, "key">): Promise<T> => {
    requests += 1;
    return requireAnswer<T>(client, status, { ...request, key });
  };
  const post = <T>(path: string, body: object, status = 200): Promise<T> => ask(status, { method: "POST", path, body });
  return {
    get: (path) => ask(200, { method: "GET", path }),
    post,
    put: (path, body) => ask(200, { method: "PUT", path, body }),
    raw: (request) => {
      requests += 1;
      return client.send({ ...request, key });
    },
    pages: async <T extends { readonly next_cursor: string | null }>(path: string, body: object) => {
      const answers: T[] = [];
      for (let cursor: object = {}; ; cursor = { cursor: answers.at(-1)!.next_cursor }) {
        answers.push(await post<T>(path, { ...body, ...cursor }));
        if (answers.at(-1)!.next_cursor === null) return answers;
      }
    },
    requests: () => requests,
  };
}

export const nameOf = ({ namespace, value }: Identifier): string => `${namespace}:${value}`;
export const namesOf = ({ identifiers }: Profile): readonly string[] => identifiers.map(nameOf).toSorted();
export const valueIn = (profile: Profile, namespace: string): string | null =>
  profile.identifiers.find((one) => one.namespace === namespace)?.value ?? null;
