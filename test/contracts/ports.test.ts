import {
  audienceBackends,
  catalogBackends,
  eventBackends,
  foldBackends,
  graphBackends,
  markBackends,
  profileBackends,
  queueBackends,
  seatBackends,
} from "../support/backends.js";
import { runContract } from "../support/contract.js";
import { audienceStoreContract } from "./audience-store.contract.js";
import { catalogStoreContract } from "./catalog-store.contract.js";
import { eventQueueContract } from "./event-queue.contract.js";
import { eventStoreContract } from "./event-store.contract.js";
import { foldContract } from "./fold.contract.js";
import { identityGraphContracts } from "./identity-graph.contract.js";
import { markStoreContract } from "./mark-store.contract.js";
import { seatStoreContract } from "./seat-store.contract.js";
import { profileStoreContract } from "./profile-store.contract.js";

runContract("EventQueue", eventQueueContract, queueBackends);
runContract("EventStore", eventStoreContract, eventBackends);
runContract("EventStore.fold", foldContract, foldBackends);
runContract("ProfileStore", profileStoreContract, profileBackends);
runContract("AudienceStore", audienceStoreContract, audienceBackends);
runContract("MarkStore", markStoreContract, markBackends);
runContract("SeatStore", seatStoreContract, seatBackends);
runContract("CatalogStore", catalogStoreContract, catalogBackends);
for (const [port, contract] of Object.entries(identityGraphContracts)) runContract(port, contract, graphBackends);
