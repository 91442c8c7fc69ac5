/** The schemas of what SDKs send: nobody registered them, and nobody can change them. */
export const isBuiltIn = (schemaId: string): boolean => schemaId.startsWith("sdk.");

/** One statement for every page that speaks of it. */
export const SDK_EVENTS =
  "Events sent by SDKs need neither a schema nor a dataset: their data is added to profiles without them.";
export const API_EVENTS =
  "Events sent through the API need a schema, and a dataset that folds them (adds their data to profiles).";
