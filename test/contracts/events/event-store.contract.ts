import type { EventStore } from "../../../core/ports/event-store.js";
import type { Contract } from "../../support/contract.js";
import { arrivalSentences } from "./event-store-arrivals.contract.js";
import { deadLetterSentences } from "./event-store-dead-letters.contract.js";
import { dropSentences } from "./event-store-drop.contract.js";
import { eventSentences } from "./event-store-events.contract.js";
import { letterPageSentences } from "./event-store-letter-pages.contract.js";
import { nameSentences } from "./event-store-names.contract.js";
import { timelineSentences } from "./event-store-timeline.contract.js";

export const eventStoreContract: Contract<EventStore> = {
  ...eventSentences,
  ...timelineSentences,
  ...arrivalSentences,
  ...deadLetterSentences,
  ...letterPageSentences,
  ...dropSentences,
  ...nameSentences,
};
