"""A compiled model on pipeline stages: the curve and validation of one rank, planned bytes, checkpoints of other plans, a kill."""

import json
from pathlib import Path

import pytest
from test_budget import TOOLS, check_final_line, compile_model, python, run
from test_ranks import MPIRUN
from test_ranks_compiled import BUDGET, alone, material, train
from test_shards_compiled import check_killed_rank_loses_nothing, check_same_curve

__all__ = ["alone", "material"]  # fixtures, used by name

FLAGS = ("--micro-batch=4", "--shard-states=none")


def compile_stages(folder, name, stages, replicas=1, *flags):
    """The plan; each role's bytes are proven."""
    compiled = compile_model(
        folder, BUDGET, name, f"--ranks={stages * replicas}", f"--pipeline={stages}", *FLAGS, *flags
    )
    assert compiled.returncode == 0, compiled.stderr
    proof = run(TOOLS / "tts-check", folder / f"{name}.plan.json", "--executable", folder / name)
    assert proof.returncode == 0, proof.stdout + proof.stderr
    plan = json.loads((folder / f"{name}.plan.json").read_text())
    assert plan["stages"] == stages and len(plan["roles"]) == stages
    return plan


def check_ranks(plan, final):
    """What was planned for each rank's role is what it took; nothing large was allocated."""
    role_of_rank = {rank: role for role in plan["roles"] for rank in role["ranks"]}
    assert len(final["ranks"]) == len(role_of_rank) == plan["ranks"]
    for number, rank in enumerate(final["ranks"]):
        role = role_of_rank[number]
        check_final_line({"final": True, **rank}, BUDGET)
        assert rank["planned_peak_bytes"] == role["peak_bytes"]
        assert rank["planned_arena_bytes"] == rank["arena_high_water_bytes"] == role["arena_bytes"]
        assert rank["bytes_sent"] > 0


@pytest.mark.parametrize(
    ("stages", "replicas", "flags"),
    [(2, 1, ()), (4, 1, ()), (2, 2, ()), (2, 1, ("--remat=full",))],
    ids=["2", "4", "2x2", "2-remat"],
)
def test_stages_train_as_one(material, alone, stages, replicas, flags):
    name = f"stages{stages}x{replicas}{len(flags)}"
    plan = compile_stages(material, name, stages, replicas, *flags)
    lines = train(material, name, stages * replicas)
    check_same_curve(alone[:-1], lines[:-1])
    for one, many in zip(alone[:-1], lines[:-1], strict=True):
        assert one["utterances"] == many["utterances"] and one.get("frames") == many.get("frames")
    check_ranks(plan, lines[-1])
    # No parameter twice, none missing.
    whole = json.loads((material / "alone.plan.json").read_text())["classes"]
    for klass in ("parameters", "optimizer"):
        assert sum(role["classes"][klass] for role in plan["roles"]) == whole[klass]


@pytest.fixture(scope="module")
def transformer(material, tmp_path_factory):
    """The tiny DiT on the same corpus."""
    folder = tmp_path_factory.mktemp("dit")
    (folder / "corpus").symlink_to(material / "corpus")
    size = ("--size=tiny", "--batch=12", f"--corpus={material / 'corpus'}")
    python("tts.models.dit", *size, "-o", folder / "model.mlir")
    assert compile_model(folder, BUDGET, "alone", *FLAGS).returncode == 0
    return folder


@pytest.mark.parametrize("stages", [2, 4])
def test_stages_of_a_transformer_are_equal_to_the_bit(transformer, stages):
    """Gradients have one rank's order of sums. The norm is a sum of the stages' own: its last bit is another, and it clips nothing here."""
    plan, kept = compile_stages(transformer, f"dit{stages}", stages), []
    for name, ranks in (("alone", 1), (f"dit{stages}", stages)):
        folder = transformer / f"kept-{name}-{stages}"
        lines = train(transformer, name, ranks, f"--checkpoint-dir={folder}", log=transformer / f"log-{name}-{stages}")
        figures = [[line.get(key) for key in ("loss", "losses", "val_loss")] for line in lines[:-1]]
        norms = [line["grad_norm"] for line in lines if "grad_norm" in line]
        kept.append((figures, (folder / "step-00000004" / "model.safetensors").read_bytes(), norms))
    check_ranks(plan, lines[-1])
    one, staged = kept
    assert len(one[2]) == 4 and staged[2] == pytest.approx(one[2], rel=1e-6)
    assert staged[0] == one[0]
    assert staged[1] == one[1], "weights"


def test_a_checkpoint_continues_on_any_stages(material, alone, tmp_path):
    """Two stages, then one rank, then four stages: each continues where the one before ended."""
    compile_stages(material, "first", 2)
    compile_stages(material, "last", 4)
    kept = f"--checkpoint-dir={tmp_path / 'kept'}"
    lines = train(material, "first", 2, kept, "--steps=1", "--eval-every=0", log=tmp_path / "1")[:-1]
    lines += train(material, "alone", 1, kept, "--steps=3", "--eval-every=0", "--resume", log=tmp_path / "2")[:-1]
    lines += train(material, "last", 4, kept, "--steps=4", "--resume", log=tmp_path / "3")[:-1]
    check_same_curve(alone[:-1], lines)
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == [f"step-0000000{n}" for n in (1, 3, 4)]


@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_stage_loses_nothing(material, alone, tmp_path, victim):
    name = f"killed_stage{victim}"
    compile_stages(material, name, 2)
    check_killed_rank_loses_nothing(material, material / name, victim, tmp_path)


SHARED = """
    %again = tts.relu %1 : tensor<?x?x16xf32, #wide> loc("relu1")
    %twice = tts.conv1d %again, %conv {left = 1 : i64} : tensor<?x?x16xf32, #wide>, tensor<3x16x16xf32> to tensor<?x?x16xf32, #wide> loc("conv2")
    %2 = tts.relu %twice : tensor<?x?x16xf32, #wide> loc("relu")
"""


@pytest.mark.parametrize("replicas", [1, 2])
def test_stages_share_a_parameter(material, tmp_path, replicas):
    """A convolution that both stages run: its owner adds the other's gradient and gives the new value back."""
    text = (Path(__file__).parent.parent / "Driver/Inputs/pitch.mlir").read_text()
    text = text.replace("11x16", "40x16").replace("<text = 8>, #tts.bucket<text = 16>", "<text = 24>")
    line = '    %2 = tts.relu %1 : tensor<?x?x16xf32, #wide> loc("relu")\n'
    assert line in text
    (tmp_path / "model.mlir").write_text(text.replace(line, SHARED))
    curves = []
    for name, flags in (("one", []), ("two", [f"--ranks={2 * replicas}", "--pipeline=2"])):
        compiled = run(
            TOOLS / "tts-compile", f"--memory-budget={BUDGET}", "--batch=8", "--micro-batch=2", "--threads=1", *flags,
            tmp_path / "model.mlir", "-o", tmp_path / name,
        )  # fmt: skip
        assert compiled.returncode == 0, compiled.stderr
        proof = run(TOOLS / "tts-check", tmp_path / f"{name}.plan.json", "--executable", tmp_path / name)
        assert proof.returncode == 0, proof.stdout + proof.stderr
        start = [*MPIRUN, "-n", str(2 * replicas)] if flags else []
        ended = run(
            *start, tmp_path / name, f"--data={material / 'corpus'}", "--steps=5", "--lr=0.01", "--eval-every=0",
            f"--log-dir={tmp_path / (name + '-log')}",
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr
        curves.append([json.loads(line) for line in (tmp_path / f"{name}-log/metrics.jsonl").read_text().splitlines()])
    parameters = [[b["name"] for b in role["buffers"]] for role in
                  json.loads((tmp_path / "two.plan.json").read_text())["roles"]]  # fmt: skip
    assert all("conv.weight" in names for names in parameters)
    assert sum("moment1:conv.weight" in names for names in parameters) == 1
    for one, two in zip(curves[0][:-1], curves[1][:-1], strict=True):
        assert two["loss"] == pytest.approx(one["loss"], rel=1e-6)
        assert two["grad_norm"] == pytest.approx(one["grad_norm"], rel=1e-5)
