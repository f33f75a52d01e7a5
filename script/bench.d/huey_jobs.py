"""The wall time, in seconds, that huey takes to enqueue, claim and complete jobs that do nothing."""

import sys
import time

from huey import SqliteHuey
from huey.storage import SqliteStorage


class Storage(SqliteStorage):
    """Huey knows FULL and OFF alone."""

    level = 1

    def _create_connection(self):
        connection = super()._create_connection()
        connection.execute(f"pragma synchronous={self.level}")
        return connection


path, count, level = sys.argv[1], int(sys.argv[2]), sys.argv[3]
Storage.level = {"normal": 1, "full": 2}[level]
huey = SqliteHuey(filename=path, storage_class=Storage)
done = 0


@huey.task()
def nothing(number):
    global done
    done += 1


begin = time.perf_counter()
for number in range(count):
    nothing(number)
enqueued = time.perf_counter()
# In the loop of a worker, without the threads and processes that would share one file.
while (task := huey.dequeue()) is not None:
    huey.execute(task)
end = time.perf_counter()
assert done == count
print(f"{enqueued - begin:.3f} {end - enqueued:.3f}")
