"""Both Python SDKs: one is a fork of the other, and their clients take the same arguments."""

import importlib
import json
import logging
import re
import sys

module = sys.argv[1]
start = json.loads(sys.argv[2])
logging.disable(logging.CRITICAL)
gave_up = []


def on_error(_error, batch):
    gave_up.extend(item["messageId"] for item in batch)


def arguments(call):
    """`userId` -> `user_id`."""
    return {re.sub("[A-Z]", lambda letter: "_" + letter[0].lower(), name): value for name, value in call.items()}


client = importlib.import_module(module).Client(
    start["key"], host=start["url"], on_error=on_error, upload_interval=0.2, **arguments(start["options"])
)
calls = 0
for line in sys.stdin:
    call = json.loads(line)
    getattr(client, call.pop("type"))(**arguments(call))
    calls += 1
client.shutdown()
print(json.dumps({"delivered": calls - len(gave_up), "gaveUp": gave_up}))
