"""The corpus directory: same bytes twice, readable by others, standardised, whole, and every planted fault found."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open

from tts.audio.features import Features
from tts.data import corpus, shards
from tts.data.check import check
from tts.data.errors import InputError, run_tool
from tts.data.synthetic import Range, synthesize

TEXT, FRAMES = Range(8, 24), Range(32, 96)


@pytest.fixture
def folder(tmp_path):
    synthesize(tmp_path / "corpus", 40, 7, TEXT, FRAMES)
    return tmp_path / "corpus"


def contents(folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def utterances(folder, split) -> dict[str, dict[str, np.ndarray]]:
    found = {}
    for path in sorted(folder.glob(f"{split}-*.safetensors")):
        tensors, metadata = shards.read(path)
        for identity in filter(None, metadata["ids"].split(",")):
            found[identity] = {name: tensors[f"{identity}/{name}"] for name in corpus.inputs(80)}
    return found


def test_synthetic_tool_gives_the_same_bytes_for_the_same_seed(tmp_path, tool):
    shared = ["--utterances=30", "--text=4-6", "--frames=10-20"]
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        done = tool("tts.data", "synthetic", f"--out={tmp_path / name}", f"--seed={seed}", *shared)
        assert done.returncode == 0, done.stderr
    assert contents(tmp_path / "a") == contents(tmp_path / "b") != contents(tmp_path / "c")
    assert len(contents(tmp_path / "a")) == 2 * 64 + 1
    lengths = [(t, f) for rows in corpus.read_manifest(tmp_path / "a")["length_histogram"].values() for t, f, _ in rows]
    assert all(4 <= text <= 6 and 10 <= frames <= 20 for text, frames in lengths)
    done = tool("tts.data", "check", tmp_path / "a")
    assert done.returncode == 0 and "sound; train 27 utterances, validation 3 utterances" in done.stdout


def test_the_safetensors_library_reads_shards(folder):
    manifest = corpus.read_manifest(folder)
    ours, count = utterances(folder, "train"), 0
    for name in manifest["splits"]["train"]["files"]:
        with safe_open(folder / name, "np") as file:
            ids = file.metadata()["ids"]
            assert file.metadata()["split"] == "train" and file.metadata()["shard"] == str(int(name[6:11]))
            for key in file.keys():
                identity, tensor = key.split("/")
                assert identity in ids.split(",")
                assert np.array_equal(file.get_tensor(key), ours[identity][tensor])
                count += 1
    assert count == 5 * manifest["splits"]["train"]["utterances"] == 5 * len(ours)


def test_training_values_are_standardised_and_undone_by_the_statistics(folder):
    manifest = corpus.read_manifest(folder)
    stored = utterances(folder, "train").values()
    for name in ("mel", "pitch", "energy"):
        values = np.concatenate([u[name].ravel() for u in stored]).astype(np.float64)
        assert abs(values.mean()) < 1e-5 and abs(values.std() - 1) < 1e-5
        if name != "mel":
            assert values.min() == pytest.approx(manifest["statistics"][f"{name}_min"], abs=1e-5)
            assert values.max() == pytest.approx(manifest["statistics"][f"{name}_max"], abs=1e-5)
    assert 4 < manifest["statistics"]["pitch_mean"] < 6  # a log of hertz: the statistics are in the own scale


def test_mel_is_a_function_of_phones(folder):
    """Equal phone, pitch and energy apart, a model has something to learn: frames of one phone are alike."""
    frames: dict[int, list[np.ndarray]] = {}
    for u in utterances(folder, "train").values():
        ends = np.cumsum(u["durations"])
        for phone, end, duration in zip(u["phones"], ends, u["durations"]):
            if duration >= 5:  # the middle is not blurred by neighbours
                frames.setdefault(int(phone), []).append(u["mel"][end - 3])
    within = np.mean([np.var(rows, axis=0).mean() for rows in frames.values() if len(rows) > 3])
    assert within < 0.15  # of a total of 1


def test_fixed_lengths_and_one_shape(tmp_path):
    manifest = synthesize(tmp_path / "c", 5, 0, Range(8, 8), Range(40, 40))
    assert manifest["suggested_buckets"] == [{"text": 8, "frames": 40}]
    assert manifest["splits"]["validation"]["utterances"] == 1


@pytest.mark.parametrize(
    ("arguments", "code", "wrong"),
    [
        (["synthetic", "--out=x", "--text=9-3"], 1, "error: --text: '9-3'"),
        (["synthetic", "--out=x", "--text=50-90", "--frames=10-20"], 1, "error: --text: up to 90 phones"),
        (["synthetic", "--out=x", "--utterances=1"], 1, "error: --utterances: "),
        (["synthetic", "--out=x", "--utterances=none"], 2, "error: tts.data synthetic: "),
        (["prepare"], 2, "error: tts.data prepare: "),
        (["mend"], 2, "error: tts.data: "),
        (["check", "nowhere"], 1, "error: nowhere: missing; "),
        (["check", "nowhere/manifest.json"], 1, "error: nowhere/manifest.json: missing; "),
    ],
)
def test_wrong_command_lines_say_one_line(tmp_path, monkeypatch, tool, arguments, code, wrong):
    monkeypatch.chdir(tmp_path)
    done = tool("tts.data", *arguments)
    assert done.returncode == code
    assert done.stderr.startswith(wrong) and done.stderr.count("\n") == 1 and "; " in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_only_a_corpus_is_replaced_and_never_by_half_of_one(folder, monkeypatch):
    before = contents(folder)
    written = corpus._write_split

    def fails(target, split, *rest):
        if split == "validation":
            raise OSError(28, "No space left on device", str(target))
        return written(target, split, *rest)

    monkeypatch.setattr(corpus, "_write_split", fails)
    with pytest.raises(OSError, match="No space left"):
        synthesize(folder, 12, 8, TEXT, FRAMES)
    assert contents(folder) == before and [p.name for p in folder.parent.iterdir()] == ["corpus"]
    monkeypatch.undo()
    renamed = Path.rename

    def refuses(path, target):
        if path.name.endswith(".new"):
            raise OSError(5, "Input/output error", str(path))
        return renamed(path, target)

    monkeypatch.setattr(Path, "rename", refuses)
    with pytest.raises(OSError, match="Input/output"):
        synthesize(folder, 12, 8, TEXT, FRAMES)
    assert contents(folder) == before and [p.name for p in folder.parent.iterdir()] == ["corpus"]
    monkeypatch.undo()
    synthesize(folder, 12, 8, TEXT, FRAMES)
    assert contents(folder) != before and check(folder) and [p.name for p in folder.parent.iterdir()] == ["corpus"]
    (folder / "manifest.json").unlink()
    with pytest.raises(InputError, match="exists and is not a corpus"):
        synthesize(folder, 12, 8, TEXT, FRAMES)


def rewrite(folder, change_tensors) -> None:
    """Changes the first shard that holds an utterance, and its hash in the manifest, so that only the content is wrong."""
    manifest = corpus.read_manifest(folder)
    for index, name in enumerate(manifest["splits"]["train"]["files"]):
        tensors, metadata = shards.read(folder / name)
        if tensors:
            tensors = {key: value.copy() for key, value in tensors.items()}
            first = metadata["ids"].split(",")[0]
            change_tensors(tensors, first, metadata)
            data = shards.encode(tensors, metadata)
            (folder / name).write_bytes(data)
            manifest["splits"]["train"]["sha256"][index] = shards.sha256(data)
            (folder / "manifest.json").write_text(json.dumps(manifest))
            return
    raise AssertionError("no utterance")


def first_duration(tensors, first, _):
    tensors[f"{first}/durations"][0] += 1


def unknown_phone(tensors, first, _):
    tensors[f"{first}/phones"][0] = 99


def not_finite(tensors, first, _):
    tensors[f"{first}/mel"][3, 4] = np.nan


def wrong_dtype(tensors, first, _):
    tensors[f"{first}/pitch"] = tensors[f"{first}/pitch"].astype(np.float64)


def shorter_energy(tensors, first, _):
    tensors[f"{first}/energy"] = tensors[f"{first}/energy"][1:]


def another_mel(tensors, first, _):
    tensors[f"{first}/mel"] += 1


def no_mel(tensors, first, _):
    del tensors[f"{first}/mel"]


def stray(tensors, first, _):
    tensors["stranger/mel"] = tensors[f"{first}/mel"]


def other_shard(tensors, first, metadata):
    for name in corpus.inputs(80):
        tensors[f"elsewhere/{name}"] = tensors.pop(f"{first}/{name}")
    metadata["ids"] = metadata["ids"].replace(first, "elsewhere")


@pytest.mark.parametrize(
    ("fault", "wrong"),
    [
        (first_duration, r"durations add up to (\d+), the mel has (\d+) frames"),
        (unknown_phone, "a phone outside the 42 symbols"),
        (not_finite, "mel has a value that is not finite"),
        (wrong_dtype, "pitch is float64"),
        (shorter_energy, "energy has \\d+ for dimension text"),
        (no_mel, "has no mel"),
        (another_mel, "its checksums are not those of its header and tensors"),
        (stray, "tensor stranger/mel belongs to no listed utterance"),
        (other_shard, "utterance elsewhere does not belong in this shard"),
    ],
)
def test_faults_inside_a_shard_are_found(folder, fault, wrong):
    rewrite(folder, fault)
    with pytest.raises(InputError, match=wrong) as caught:
        check(folder)
    assert re.match(r"error: .*/train-\d{5}-of-00064\.safetensors: .+; .+", str(caught.value))


def truncate(path):
    path.write_bytes(path.read_bytes()[:-8])


def cut_header(path):
    path.write_bytes(path.read_bytes()[:20])


def flip(path):
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("fault", "wrong"),
    [
        (lambda path: path.unlink(), "the shard is missing"),
        (truncate, "does not lie where its header says"),
        (cut_header, "truncated"),
        (flip, "its sha256 is not the manifest's"),
        (lambda path: path.write_bytes(b"\x08" + bytes(7) + b"{broken}"), "header is damaged"),
    ],
)
def test_damaged_files_are_found(folder, tool, fault, wrong):
    path = max(folder.glob("train-*.safetensors"), key=lambda path: path.stat().st_size)
    fault(path)
    done = tool("tts.data", "check", folder)
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {path}: ") and wrong in done.stderr and done.stderr.count("\n") == 1


def drop_bucket(manifest):
    manifest["suggested_buckets"].pop()


def wrong_histogram(manifest):
    manifest["length_histogram"]["train"][0][2] += 1


def leaking_group(manifest):
    manifest["duplicate_groups"] = [[manifest["first"]["train"], manifest["first"]["validation"]]]


def leaking_text(manifest):
    manifest["utterances"] = {name: {"text": "Press one, please."} for name in manifest["first"].values()}


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (drop_bucket, "fits no suggested bucket"),
        (wrong_histogram, "length_histogram of train"),
        (leaking_group, "are in two splits"),
        (leaking_text, "same text: "),
        (lambda manifest: manifest.pop("statistics"), "field statistics is missing"),
        (lambda manifest: manifest["features"].update(hop=128), "features_hash does not match"),
        (lambda manifest: manifest.update(version=2), "version 2, this code reads 1"),
        (lambda manifest: manifest["splits"].pop("validation"), "a field is missing or of the wrong kind"),
        (lambda manifest: manifest["splits"]["train"].update(utterances=9), "has 36 utterances, not 9"),
    ],
)
def test_faults_in_the_manifest_are_found(folder, change, wrong):
    manifest = corpus.read_manifest(folder)
    manifest["first"] = {split: min(utterances(folder, split)) for split in corpus.SPLITS}
    change(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match=wrong) as caught:
        check(folder)
    assert str(caught.value).startswith(f"error: {folder / 'manifest.json'}: ")


def test_a_corpus_needs_training_data(tmp_path):
    with pytest.raises(InputError, match="no utterance is left for training"):
        corpus.write(tmp_path / "c", Features(), [], {"train": [], "validation": []}, {})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("raised", "code", "told"),
    [
        (InputError("a", "is\nwrong", "mend it"), 1, "error: a: is wrong; mend it\n"),
        (OSError(28, "No space left on device", "f"), 1, "error: f: No space left on device; check the path"),
        (
            ModuleNotFoundError("x", name="librosa"),
            1,
            "error: Python module librosa: not installed; run scripts/setup.sh",
        ),
        (KeyboardInterrupt(), 130, "error: interrupted: "),
    ],
)
def test_what_the_user_can_mend_is_one_line(capsys, raised, code, told):
    def main():
        raise raised

    assert run_tool(main) == code
    said = capsys.readouterr().err
    assert said.startswith(told) and said.count("\n") == 1 and "; " in said
