"""Ranks of different budgets: each runs a plan of its own, proven by itself, and together they have the curve of equal ones."""

import copy
import hashlib
import json

import pytest
from test_budget import TOOLS, check_final_line, compile_model, python, run
from test_ranks_compiled import train

WIDE = 256 << 20
PLANNED = ("--pipeline=none", "--plan-table=none")


@pytest.fixture(scope="module")
def material(tmp_path_factory):
    """The tiny model with dropout and several buckets, and its corpus."""
    folder = tmp_path_factory.mktemp("mixed")
    corpus = folder / "corpus"
    python("tts.data", "synthetic", f"--out={corpus}", "--utterances=60", "--seed=3")
    python("tts.models.fastspeech2", "--size=tiny", "--batch=12", f"--corpus={corpus}", "-o", folder / "model.mlir")
    return folder


def plan_of(material, name):
    return json.loads((material / f"{name}.plan.json").read_text())


def check(material, name, plan=None, program=None):
    """tts-check on the files of `name`, or on others."""
    return run(TOOLS / "tts-check", plan or material / f"{name}.plan.json", "--executable", program or material / name)


@pytest.fixture(scope="module")
def mixed(material):
    """A wide and a tight rank: the plan, once it is compiled."""
    equal = compile_model(material, WIDE, "equal", "--ranks=2", *PLANNED)
    assert equal.returncode == 0, equal.stderr
    tight = plan_of(material, "equal")["smallest_budget_bytes"]
    done = compile_model(material, f"{WIDE},{tight}", "mixed", "--ranks=2", *PLANNED)
    assert done.returncode == 0, done.stderr
    return plan_of(material, "mixed")


def check_run(plan, lines, equal):
    """Every rank keeps to its own role, and the losses are those of equal ranks."""
    final = lines[-1]
    for role in plan["roles"]:
        assert role["peak_bytes"] <= role["budget_bytes"]
        for rank in role["ranks"]:
            figures = final["ranks"][rank]
            assert figures["planned_peak_bytes"] == role["peak_bytes"]
            assert figures["planned_arena_bytes"] == role["arena_bytes"]
            check_final_line({"final": True, **figures}, role["budget_bytes"])
    assert len(lines) == len(equal)
    for one, other in zip(lines[:-1], equal[:-1], strict=True):
        for key in ("loss", "val_loss", "grad_norm"):
            if key in one:
                assert one[key] == pytest.approx(other[key], rel=1e-6 if key != "grad_norm" else 1e-5)
    # The same utterances in the same order.
    assert final["experiment"]["trace"] == equal[-1]["experiment"]["trace"]


def test_each_rank_has_a_plan_of_its_budget(material, mixed):
    wide, tight = mixed["roles"]
    assert (wide["ranks"], tight["ranks"]) == ([0], [1]) and wide["budget_bytes"] == WIDE
    assert tight["budget_bytes"] == mixed["smallest_budget_bytes"] < wide["peak_bytes"] == mixed["peak_bytes"]
    micro = [[bucket["micro_batch"] for bucket in role["buckets"]] for role in (wide, tight)]
    assert micro[0] != micro[1] and all(a >= b for a, b in zip(*micro, strict=True)), micro
    # The wide rank does what it would among its like.
    equal = plan_of(material, "equal")
    assert [bucket["micro_batch"] for bucket in equal["buckets"]] == micro[0]
    assert equal["peak_bytes"] == wide["peak_bytes"] and "roles" not in equal
    proof = check(material, "mixed")
    assert proof.returncode == 0, proof.stdout + proof.stderr


def test_the_curve_is_that_of_equal_budgets(material, mixed):
    check_run(mixed, train(material, "mixed", 2), train(material, "equal", 2))


def test_three_ranks_of_two_budgets_and_shards_of_the_optimizer(material):
    flags = ("--ranks=3", "--shard-states=optimizer", *PLANNED)
    assert compile_model(material, WIDE, "equal3", *flags).returncode == 0
    tight = plan_of(material, "equal3")["smallest_budget_bytes"]
    done = compile_model(material, f"{WIDE},{tight},{WIDE}", "mixed3", *flags)
    assert done.returncode == 0, done.stderr
    plan = plan_of(material, "mixed3")
    assert [role["ranks"] for role in plan["roles"]] == [[0, 2], [1]] and plan["state_sharding"] == "optimizer"
    proof = check(material, "mixed3")
    assert proof.returncode == 0, proof.stdout + proof.stderr
    check_run(plan, train(material, "mixed3", 3), train(material, "equal3", 3))


def test_sums_do_not_depend_on_when_they_begin(material, mixed, monkeypatch):
    early = train(material, "mixed", 2, log=material / "log-early")
    monkeypatch.setenv("TTS_EARLY_SUMS", "0")
    late = train(material, "mixed", 2, log=material / "log-late")
    keys = ("loss", "grad_norm", "val_loss")
    assert [[line.get(key) for key in keys] for line in early[:-1]] == [
        [line.get(key) for key in keys] for line in late[:-1]
    ]


def spoil_certificate(plan):
    """Certificates that are not the executable's, and what tts-check says."""
    wide, tight = plan["roles"]
    yield {**plan, "roles": [wide]}, "roles has 1 parts, the executable 2 step tables"
    yield {**plan, "roles": [wide, tight, tight]}, "roles has 3 parts, the executable 2 step tables"
    yield {key: value for key, value in plan.items() if key != "roles"}, "roles has 0 parts"
    swapped = [{**wide, "ranks": [1]}, {**tight, "ranks": [0]}]
    yield {**plan, "roles": swapped}, "ranks are not those of its step table"
    yield {**plan, "roles": [wide, {**tight, "ranks": [0]}]}, "has a rank that is"
    yield {**plan, "roles": [{**wide, "ranks": [0, 1]}, {**tight, "ranks": []}]}, "has no ranks"
    yield {**plan, "roles": [{**wide, "ranks": []}, tight]}, "has no ranks"
    yield {**plan, "roles": [wide, {**tight, "budget_bytes": WIDE}]}, "budget_bytes"
    yield {**plan, "roles": [wide, {**tight, "peak_bytes": tight["peak_bytes"] - 64}]}, "peak_bytes"
    yield {**plan, "roles": [wide, {**tight, "buffers": wide["buffers"]}]}, "buffers"
    yield {**plan, "peak_bytes": tight["peak_bytes"]}, "peak_bytes is not that of the largest role"
    yield {**plan, "buckets": tight["buckets"]}, "buckets is not that of the largest role"


def test_another_certificate_is_refused(material, mixed, tmp_path):
    for number, (spoilt, words) in enumerate(spoil_certificate(mixed)):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(spoilt))
        proof = check(material, "mixed", plan=path)
        assert proof.returncode == 1 and words in proof.stderr, (number, words, proof.stderr)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (b'"role_of_rank":[0,1]', b'"role_of_rank":[1,0]', "ranks are not those of its step table"),
        (b'"role":1', b'"role":0', "ranks are not those of its step table"),
        (b'"threads":1', b'"threads":2', "has another threads than role 0"),
    ],
    ids=["rank map", "role", "settings"],
)
def test_tables_that_do_not_agree_are_refused(material, mixed, tmp_path, before, after, words):
    image = (material / "mixed").read_bytes()
    at = image.rindex(before)  # of the second table
    image = image[:at] + after + image[at + len(before) :]
    (tmp_path / "train").write_bytes(image)
    plan = copy.deepcopy(mixed)
    plan["hashes"]["executable"] = hashlib.sha256(image).hexdigest()
    (tmp_path / "train.plan.json").write_text(json.dumps(plan))
    proof = check(material, "mixed", tmp_path / "train.plan.json", tmp_path / "train")
    assert proof.returncode == 1 and words in proof.stderr, proof.stderr


def test_a_library_has_one_table(material, mixed):
    done = compile_model(material, f"{WIDE},{mixed['smallest_budget_bytes']}", "mixed.so", "--ranks=2", *PLANNED)
    assert done.returncode == 2 and done.stderr.startswith("error: -o: a library is of one table, but ranks differ; ")
