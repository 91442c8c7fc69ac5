import {
  audienceBackends,
  catalogBackends,
  erasureLogBackends,
  eventBackends,
  foldBackends,
  markBackends,
  profileBackends,
  seatBackends,
  webhookBackends,
  tallyBackends,
} from "../support/backends.js";
import { runContract } from "../support/contract.js";
import { audienceStoreContract } from "./catalog/audience-store.contract.js";
import { catalogStoreContract } from "./catalog/catalog-store.contract.js";
import { erasureLogContract } from "./erasure-log.contract.js";
import { eventStoreContract } from "./events/event-store.contract.js";
import { foldContract } from "./events/fold.contract.js";
import { markStoreContract } from "./profiles/mark-store.contract.js";
import { seatStoreContract } from "./profiles/seat-store.contract.js";
import { tallyStoreContract } from "./profiles/tally-store.contract.js";
import { verifyFacetsContract } from "./verify-facets.contract.js";
import { webhookStoreContract } from "./catalog/webhook-store.contract.js";
import { profileStoreContract } from "./profiles/profile-store.contract.js";

runContract("EventStore", eventStoreContract, eventBackends);
runContract("EventStore.fold", foldContract, foldBackends);
runContract("Verifying facets", verifyFacetsContract, foldBackends);
runContract("ProfileStore", profileStoreContract, profileBackends);
runContract("AudienceStore", audienceStoreContract, audienceBackends);
runContract("MarkStore", markStoreContract, markBackends);
runContract("SeatStore", seatStoreContract, seatBackends);
runContract("WebhookStore", webhookStoreContract, webhookBackends);
runContract("ErasureLog", erasureLogContract, erasureLogBackends);
runContract("TallyStore", tallyStoreContract, tallyBackends);
runContract("CatalogStore", catalogStoreContract, catalogBackends);
