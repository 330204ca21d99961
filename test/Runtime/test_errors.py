"""Bad input and bad usage: one line, the contract's exit code."""

import json

import pytest


@pytest.mark.parametrize(
    "flags",
    [
        ["--no-such-flag"],
        ["--steps=three"],
        ["--steps=-1"],
        ["--schedule=linear", "--steps=1"],
        ["--save-best=loss", "--steps=1"],
        ["--save-best=val_loss", "--steps=1"],
        ["--checkpoint-every=5", "--steps=1"],
        ["--resume", "--steps=1"],
        ["--evaluate"],
        ["--dump-outputs=x", "--steps=1"],
        ["--infer=x", "--init-from=y"],
        ["--infer=x", "--dump-outputs=y"],
        ["--infer=x", "--dump-outputs=y", "--init-from=z", "--evaluate"],
        ["--max-time=3y", "--steps=1"],
        [],
    ],
)
def test_wrong_flags(train, flags):
    train(*flags).refused(2)


def test_a_model_that_cannot_speak(train):
    train("--infer=x", "--dump-outputs=y", "--init-from=z").refused(2, "--infer", "without an infer program")


def test_missing_corpus(train, tmp_path):
    train("--steps=1", data=tmp_path / "nowhere").refused(1, "manifest.json", "cannot be opened")


def shard_of(corpus):
    return corpus.folder / "train-00001-of-00004.safetensors"


def test_missing_shard(train, corpus):
    shard_of(corpus).unlink()
    train("--steps=1").refused(1, "train-00001", "cannot be opened")


@pytest.mark.parametrize("keep, text", [(0, "shorter"), (40, "truncated"), (-8, "outside the file")])
def test_truncated_shard(train, corpus, keep, text):
    data = shard_of(corpus).read_bytes()
    shard_of(corpus).write_bytes(data[:keep] if keep else b"")
    train("--steps=1").refused(1, "train-00001", text)


def test_shard_that_breaks_the_manifest(train, corpus):
    manifest = json.loads((corpus.folder / "manifest.json").read_text())
    manifest["inputs"]["mel"]["dims"] = ["frames", 3]
    (corpus.folder / "manifest.json").write_text(json.dumps(manifest))
    train("--steps=1").refused(1, "t0000/mel", "manifest")


def changed_manifest(corpus, change):
    path = corpus.folder / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest["splits"])
    path.write_text(json.dumps(manifest))


def test_test_data_cannot_be_trained_on(train, corpus):
    """A shard knows its split, whatever the manifest or its name says."""
    changed_manifest(corpus, lambda splits: splits.update(train=splits["validation"]))
    train("--steps=1").refused(1, "validation-00000", "belongs to the split 'validation'", "lists it under 'train'")


def test_an_utterance_in_two_splits(train, corpus):
    """Also in one that is neither trained on nor validated with; its id says so, if its shards are there at all."""
    own = shard_of(corpus).read_bytes().replace(b'"split":"train"', b'"split":"tests"')
    (corpus.folder / "test-00000-of-00001.safetensors").write_bytes(own)
    files = ["test-00000-of-00001.safetensors", "test-00001-of-00002.safetensors"]
    changed_manifest(corpus, lambda splits: splits.update(test={"files": files}))
    train("--steps=1").refused(1, "listed twice: t0001 (train and test), t0005 (train and test)")
    (corpus.folder / files[0]).unlink()
    assert train("--steps=1").code == 0


def test_shards_of_another_corpus(train, corpus, make_corpus):
    """The manifest vouches for the headers."""
    other = make_corpus([7] * 30, name="other")
    shard_of(corpus).write_bytes(shard_of(other).read_bytes())
    train("--steps=1").refused(1, "train-00001", "its header is not the one that the manifest was written with")


def spoil(corpus, at=-5):
    """Changes one bit near the end of a shard: of its last utterance's tensors."""
    data = bytearray(shard_of(corpus).read_bytes())
    data[at] ^= 1
    shard_of(corpus).write_bytes(data)


def test_a_flipped_bit_of_the_data(train, corpus, tmp_path):
    """The header vouches for the tensors; what was trained before the utterance was met is saved as usual."""
    spoil(corpus)
    run = train("--steps=9", "--checkpoint-every=1", "--keep=99", f"--checkpoint-dir={tmp_path / 'c'}")
    run.refused(1, "train-00001", "'t0029/", "is not what was prepared: its CRC-32 is ")
    assert len(list((tmp_path / "c").iterdir())) == len(run.updates) < 9


def test_other_content_is_another_corpus(train, make_corpus, tmp_path):
    """The same ids with other lengths: not the data that a checkpoint's position is in."""
    here = f"--checkpoint-dir={tmp_path / 'c'}"
    assert train("--steps=2", here).code == 0
    other = make_corpus([2] * 30, name="other")
    train("--steps=3", "--resume", here, data=other.folder).refused(1, "it was trained on another corpus")


def test_manifest_that_is_no_json(train, corpus):
    (corpus.folder / "manifest.json").write_text("{")
    train("--steps=1").refused(1, "manifest.json")


def test_utterances_that_fit_nowhere_are_listed(train, make_corpus):
    """Report 13: nothing is dropped silently."""
    long = make_corpus([5, 17, 9, 40], name="long", validation=2)
    train("--steps=1", data=long.folder).refused(1, "t0001, t0003, v0001", "longer than every bucket")


def test_other_features(train):
    train("--steps=1", env={"TOY_FEATURES_HASH": "abd"}).refused(1, "features")
    assert train("--steps=1", env={"TOY_FEATURES_HASH": "abc"}).code == 0


def test_weights_of_another_model(train, tmp_path, corpus):
    train("--steps=1", f"--init-from={shard_of(corpus)}").refused(1, "proj.weight", "missing")
    train("--steps=1", f"--init-from={tmp_path / 'none'}").refused(1, "cannot be opened")


def test_unknown_utterance(train, tmp_path):
    here = f"--checkpoint-dir={tmp_path / 'c'}"
    assert train("--steps=1", here).code == 0
    flags = ["--evaluate", "--resume", here, "--dump-outputs=o", "--dump-utterances=v0001,nobody"]
    train(*flags).refused(1, "'nobody'")


def test_validation_without_a_split(train, make_corpus):
    bare = make_corpus([4] * 8, name="bare", validation=0)
    assert train("--steps=1", data=bare.folder).code == 0
    train("--steps=1", "--eval-every=1", data=bare.folder).refused(1, "validation split is empty")


def test_log_directory_that_cannot_be(train, corpus):
    train("--steps=1", log=f"{shard_of(corpus)}/x").refused(5, "cannot be written")
