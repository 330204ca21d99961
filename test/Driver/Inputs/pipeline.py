"""A certificate of two stages with two replicas each."""

import json
import sys

with open(sys.argv[1]) as file:
    plan = json.load(file)
assert plan["stages"] == 2 and plan["ranks"] == 4
roles = plan["roles"]
assert [role["ranks"] for role in roles] == [[0, 1], [2, 3]]
assert plan["peak_bytes"] == max(role["peak_bytes"] for role in roles)
for role in roles:
    assert sum(role["classes"].values()) == role["peak_bytes"]
    assert role["arena_bytes"] + role["overhead_bytes"] == role["peak_bytes"]
    assert role["classes"]["collectives"] > 0
# Each parameter has its moments on one stage.
moments = [{b["name"] for b in role["buffers"] if b["name"].startswith("moment1:")} for role in roles]
assert moments[0] and moments[1] and not moments[0] & moments[1]
assert moments[0] | moments[1] == {
    "moment1:embedding.weight",
    "moment1:conv.weight",
    "moment1:head.weight",
}
# The first stage has room for two micro-batches.
forwards = [{p["program"] for p in role["programs"] if "forward" in p["program"]} for role in roles]
assert len(forwards[0]) == 2 * len(forwards[1]) or len(roles[0]["programs"]) > len(roles[1]["programs"])
assert 0 <= plan["pipeline_bubble"] < 1
