import { liveBackends, queueBackends } from "../support/backends.js";
import { runContract } from "../support/contract.js";
import { eventQueueContract } from "./events/event-queue.contract.js";
import { liveChannelContract } from "./live-channel.contract.js";

runContract("EventQueue", eventQueueContract, queueBackends);
runContract("LiveChannel", liveChannelContract, liveBackends);
