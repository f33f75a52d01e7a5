"""What schemathesis can't make up from the document: bodies of bytes, and what the space has."""

import os
import sys
from pathlib import Path

import schemathesis
from hypothesis import strategies

sys.path.insert(0, str(Path(__file__).parents[2] / "Examples/Python"))
from tern import Space, Table  # noqa: E402
from wire import (  # noqa: E402
    INSERT, Operation, encode_batch, encode_key, encode_row, encode_value, varint,
)

TABLE = Table("book", ["isbn"], ["title"])
# Some meet what another push stored, and others are new. The first may not write.
AUTHORS = strategies.sampled_from([bytes([n]) * 16 for n in range(4)]) | strategies.binary(
    min_size=16, max_size=16
)
# From long ago, and now and then far ahead of the server's clock.
TIMES = strategies.integers(1, 1 << 40) | strategies.integers(1, (1 << 63) - 1)


@strategies.composite
def batches(draw):
    """Operations of one author, which mostly follow each other."""
    operations, author, sequence = [], draw(AUTHORS), draw(strategies.sampled_from([1, 1, 1, 2]))
    for _ in range(draw(strategies.integers(0, 4))):
        values = {"title": encode_value(draw(strategies.text(max_size=8)))}
        body = encode_row(TABLE, INSERT, 1, encode_key(["1"])[0], values)
        tail = varint(1) + varint(0) + b"\0" + varint(len(body)) + body
        continues = draw(strategies.sampled_from([False, False, False, True]))
        operations.append(Operation.make(continues, author, sequence, draw(TIMES), tail))
        sequence += draw(strategies.sampled_from([1, 1, 1, 0, 2]))
    return encode_batch(operations)


cut_batches = strategies.builds(lambda batch, n: batch[:n], batches(), strategies.integers(0, 60))
schemathesis.openapi.media_type(
    "application/vnd.tern.batch", batches() | cut_batches | strategies.binary(max_size=200)
)
schemathesis.openapi.media_type("application/octet-stream", strategies.binary(max_size=200))


@schemathesis.hook
def map_case(context, case):
    """Some offers and reports are of what the space has, and so get further than their cursor. One that is to be
    refused stays as it is."""
    path, body = case.operation.path, case.body
    is_offer = path.endswith("/snapshots") and isinstance(body, dict) and body.get("parts") == 1
    is_report = path.endswith("/state") and isinstance(body, dict) and body.get("tables") == {}
    if not case.meta.generation.mode.is_positive or not (is_offer or is_report):
        return case
    space = Space(os.environ["TERN_URL"], "home", os.environ["TERN_TOKEN"])
    operations, body["cursor"], _ = space.pull(None, b"\x0f" * 16)
    if is_offer:
        body["heads"] = {
            o.author.hex(): [o.sequence, o.time >> 16, o.time & 0xFFFF] for o in operations
        }
    return case
