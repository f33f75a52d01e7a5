"""The processor time, in seconds, that loro takes for a trace's edits and a snapshot of them."""

import gzip
import json
import sys
import time

import loro

with gzip.open(sys.argv[1]) as file:
    trace = json.load(file)
patches = [patch for transaction in trace["txns"] for patch in transaction["patches"]]
size = int(sys.argv[2])
begin = time.process_time()
document = loro.LoroDoc()
text = document.get_text("text")
for index, (position, removed, inserted) in enumerate(patches, 1):
    if removed:
        text.delete(position, removed)
    if inserted:
        text.insert(position, inserted)
    if index % size == 0:
        document.commit()
document.commit()
document.export(loro.ExportMode.Snapshot())
spent = time.process_time() - begin
assert text.to_string() == trace["endContent"]
print(f"{spent:.3f}")
