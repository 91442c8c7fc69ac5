/** One statement for every page that speaks of it. */
export const SDK_EVENTS =
  "Events of SDKs need neither a schema nor a dataset: their built-in schemas are always folded into profiles. Events of the API need a schema, and a dataset that folds them; so do events of SDKs to which the tracking plan assigns one of your schemas.";
