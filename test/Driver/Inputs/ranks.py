"""A plan for 4 ranks counts their exchange: in the overhead and in the seconds of an update; no other overhead differs."""

import json
import sys

four, one = (json.load(open(path)) for path in sys.argv[1:])
exchange = four["exchange"]
assert one["exchange"]["link"] == "none"
assert all(value == 0 for key, value in one["exchange"].items() if key != "link")
assert (four["ranks"], four["stages"], one["ranks"], one["batch_per_rank"]) == (4, 1, 1, 10)
assert exchange["buffer_bytes"] == 688 << 20
rest = [p["overhead_bytes"] - p["host_buffer_bytes"] for p in (four, one)]
assert rest[0] - rest[1] == exchange["buffer_bytes"], rest
# A share of 3 of this update and of the next, and one more for where the shards of others end before its own.
assert four["host_buffer_bytes"] == one["host_buffer_bytes"] * 7 / 20
assert sum(four["classes"].values()) == four["peak_bytes"]
# 5,760 bytes at 200 GB/s and six steps of 3.4 us.
assert abs(exchange["predicted_all_reduce_seconds"] - (5760 / 200e9 + 4 * 3.4e-6)) < 1e-12
assert four["predicted_step_seconds"] > exchange["predicted_all_reduce_seconds"]
assert four["eager_bytes"] < one["eager_bytes"]
