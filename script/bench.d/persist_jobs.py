"""The wall time, in seconds, that persist-queue takes to put, get and acknowledge items."""

import sys
import time

from persistqueue import SQLiteAckQueue

folder, count, level = sys.argv[1], int(sys.argv[2]), sys.argv[3]
queue = SQLiteAckQueue(folder)
for connection in {queue._putter, queue._getter}:
    connection.execute(f"pragma synchronous={level}")
begin = time.perf_counter()
for number in range(count):
    queue.put(number)
enqueued = time.perf_counter()
for number in range(count):
    item = queue.get(block=False)
    assert item == number
    queue.ack(item)
    # It looks through what is acknowledged for each item, so that has to go now and then.
    if number % 1000 == 999:
        queue.clear_acked_data(max_delete=1000, keep_latest=0)
end = time.perf_counter()
print(f"{enqueued - begin:.3f} {end - enqueued:.3f}")
