"""The benchmark of recomputing: how a plan is imposed, how bytes are counted and sides compared."""

import json
import math
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[3] / "benchmarks" / "recompute"))
sys.path.append(str(Path(__file__).resolve().parents[3] / "benchmarks" / "remat"))

import equal_bytes
import graphs
import imposed
import optimum
import torch_side

IR = """module {
  func.func @forward(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    %0 = tts.relu %arg0 : tensor<2xf32> loc(#loc1)
    %1 = tts.broadcast %arg0 dims [1] : tensor<2xf32> loc(#loc2)
    %2 = tts.add %0, %1 : tensor<2xf32> loc(#loc3)
    %y, %mean = tts.layer_norm %2 : tensor<2xf32>, tensor<f32> loc(#loc4)
    %3 = tts.mask %y : tensor<2xf32> loc(#loc5)
    %4 = tts.relu %3 : tensor<2xf32> loc(#loc6)
    return %4 : tensor<2xf32> loc(#loc)
  }
  func.func @backward(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    %0 = tts.relu_grad %arg0 : tensor<2xf32> loc(#loc7)
    %1 = tts.mask %0 : tensor<2xf32> loc(#loc8)
    return %1 : tensor<2xf32> loc(#loc)
  }
}
#loc = loc("model.mlir":1:1)
#loc1 = loc("block.0.relu"(#loc))
#loc2 = loc("block.0.broadcast"(#loc))
#loc3 = loc("block.0.sum"(#loc))
#loc4 = loc(fused[#loc9, #loc3])
#loc5 = loc("block.0.mask"(#loc))
#loc6 = loc("head.relu"(#loc))
#loc7 = loc("head.relu.grad"(#loc))
#loc8 = loc("block.0.mask.grad"(#loc))
#loc9 = loc("block.0.sum"(#loc))
"""


def test_names_are_those_of_the_programs():
    forward = [("relu", "block.0.relu"), ("broadcast", "block.0.broadcast"), ("add", "block.0.sum")]
    forward += [("layer_norm", "block.0.sum.1"), ("mask", "block.0.mask"), ("relu", "head.relu")]
    assert imposed.names_of(IR, "forward") == forward
    assert imposed.names_of(IR, "backward") == [("relu_grad", "head.relu.grad"), ("mask", "block.0.mask.grad")]


def test_a_block_is_computed_again_before_its_backward_but_for_what_it_hands_on():
    again = imposed.whole_blocks(IR, ["block.0"])
    assert again == [(name, "block.0.mask.grad") for name in ("block.0.relu", "block.0.sum", "block.0.sum.1")]


def test_an_imposed_front_has_one_choice_that_is_to_be_lowered():
    choice = {"plan": "#tts.plan<threads = 1>", "exact": True, "remat": 0, "least_bytes": 3, "least_seconds": 1.0}
    front = imposed.impose(json.dumps({"key": "k", "choices": [choice, {}]}), [("a", "b")])
    (only,) = json.loads(front)["choices"]
    assert only["plan"] == '#tts.plan<threads = 1, recompute = [[#tts.recompute<"a", before = "b">]]>'
    assert only["exact"] is False
    with pytest.raises(ValueError, match="computes something again"):
        imposed.impose(front, [("a", "b")])


def test_the_peak_is_of_what_is_live_at_once():
    assert torch_side.peak_of([(3, -10), (1, 10), (2, 5), (4, 8)]) == 15


def test_sides_are_compared_by_what_each_adds_to_its_own_step():
    none, ours = equal_bytes.Point("ours", 9, seconds=2.0), equal_bytes.Point("ours-1", 5, seconds=2.2)
    base, its = equal_bytes.Point("torch", 9, 7, 1.0), equal_bytes.Point("torch-blocks", 6, 2, 1.05)
    none.bases = ours.bases = [none]
    base.bases = its.bases = [base, its]
    assert math.isclose(ours.added, 0.1)
    line, holds = equal_bytes.row(its, ours)
    assert not holds and line.endswith("missed") and "+5.0 %" in line and "2.095" in line
    its.seconds = 1.095
    assert equal_bytes.row(its, ours)[1]
    line, holds = equal_bytes.row(its, None)
    assert not holds and line.endswith("no plan of ours is as small")


def test_a_problem_is_read_as_it_was_written():
    problem = graphs.resnet(2)
    problem.ops[3].keep = False
    read = graphs.Problem.read("again", problem.lines(), problem.blocks)
    assert list(read.lines()) == list(problem.lines())


def test_segments_keep_what_crosses_between_them_through_views():
    op = graphs.Op
    ops = [op(0, 0.0, [], free=True), op(1, 1.0, [0]), op(0, 0.0, [1], free=True), op(1, 1.0, [1]), op(1, 1.0, [3])]
    ops += [op(1, 1.0, [2, 4]), op(1, 1.0, [5])]
    assert optimum.last_readers(graphs.Problem("view", ops=ops)) == [1, 5, 5, 4, 5, 6, 6]
    rules = optimum.rule_sets(graphs.Problem("view", ops=ops))
    assert ("segments", [1, 3, 5]) in rules and ("segments", [1, 5]) in rules
