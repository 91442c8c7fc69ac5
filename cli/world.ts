/** What a command has of the world around it. */
export interface World {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: AsyncIterable<string | Uint8Array>;
  /** Resolves when there is room for more. Rejects with EPIPE once nobody reads on. */
  readonly out: (text: string) => Promise<void>;
  readonly err: (text: string) => void;
  readonly showsProgress: boolean;
  /** Null: nobody can be asked. */
  readonly ask: ((question: string) => Promise<boolean>) | null;
}
