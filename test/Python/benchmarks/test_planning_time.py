"""The benchmark of planning time: what it counts and allows."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))

import planning_time


def test_operations_are_counted_once_each():
    text = """module {
  func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = tts.exp %x : tensor<2xf32>
    %y:2, %z = tts.some %0, %0 : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
"""
    assert planning_time.count_operations(text) == 3


def test_bars_rise_in_proportion():
    assert planning_time.bar_of(100) == planning_time.bar_of(2500) == 0.5
    assert planning_time.bar_of(20000) == 5.0
    assert planning_time.bar_of(11250) == 2.75
