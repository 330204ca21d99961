"""The corpus of codec tokens: what the codec keeps, what a stream holds, what is refused."""

import json

import numpy as np
import pytest

from tts.data import codec, shards
from tts.data.check import check
from tts.data.errors import InputError
from tts.data.synthetic import Range, synthesize
from tts.data.tokens import IGNORED, Vocabulary, make, read_codec, row

SIZES = {"stack": 3, "levels": 2, "codes": 16}


@pytest.fixture(scope="module")
def mels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tokens") / "mels"
    synthesize(folder, 24, 5, Range(3, 9), Range(12, 40), mels=8)
    return folder


@pytest.fixture(scope="module")
def made(mels):
    folder = mels.parent / "made"
    return folder, make(mels, folder, **SIZES)


def rows_of(folder, manifest, split):
    found = {}
    for name in manifest["splits"][split]["files"]:
        tensors, metadata = shards.read(folder / name)
        for identity in filter(None, metadata["ids"].split(",")):
            found[identity] = tensors[f"{identity}/tokens"], tensors[f"{identity}/targets"]
    return found


def test_it_is_sound_and_the_same_every_time(mels, made, tmp_path):
    folder, manifest = made
    assert "sound" in check(folder)
    again = make(mels, tmp_path / "again", **SIZES)
    assert again == manifest
    assert make(mels, tmp_path / "other", **SIZES, seed=1)["splits"] != manifest["splits"]


def test_a_stream_is_phones_then_codes_and_only_codes_are_predicted(mels, made):
    folder, manifest = made
    source = json.loads((mels / "manifest.json").read_text())
    words, learned = Vocabulary(len(source["symbols"]), 2, 16), read_codec(folder, manifest)
    assert manifest["codec"]["tokens"] == words.tokens == len(source["symbols"]) + 2 + 32
    for name in source["splits"]["train"]["files"]:
        tensors, metadata = shards.read(mels / name)
        found = rows_of(folder, manifest, "train")
        for identity in filter(None, metadata["ids"].split(",")):
            phones, mel = tensors[f"{identity}/phones"], tensors[f"{identity}/mel"]
            tokens, targets = found[identity]
            n = len(phones)
            assert (tokens[:n] == phones).all() and tokens[n] == words.begin
            assert (targets[:n] == IGNORED).all() and targets[-1] == words.end
            assert (targets[n:-1] == tokens[n + 1 :]).all()
            named = words.to_codes(tokens[n + 1 :])
            assert (named == learned.encode(mel)).all()
            again = learned.decode(named)[: len(mel)]
            assert again.shape == mel.shape and ((again - mel) ** 2).sum() < (mel**2).sum()


def test_the_codec_tells_what_it_keeps(mels, made):
    """More codes or levels keep more; the figure is the error of the decoded mels."""
    folder, manifest = made
    source = json.loads((mels / "manifest.json").read_text())
    found = [shards.read(mels / name)[0] for name in source["splits"]["train"]["files"]]
    train = [value for tensors in found for name, value in tensors.items() if name.endswith("/mel")]
    learned = read_codec(folder, manifest)
    told = codec.explained(learned, train)
    assert manifest["codec"]["explained"]["train"] == round(told, 4)
    rest = sum(((learned.decode(learned.encode(m))[: len(m)] - m) ** 2).sum() for m in train)
    whole = np.concatenate(train)
    assert told == pytest.approx(1 - rest / ((whole - whole.mean(0)) ** 2).sum(), rel=1e-6)
    coarse = codec.Codec(learned.stack, learned.codebooks[:1])
    assert 0.2 < codec.explained(coarse, train) < told < 1


def test_k_means_finds_clusters():
    rng = np.random.default_rng(0)
    centres = rng.normal(scale=20, size=(5, 4))
    x = np.repeat(centres, 40, 0) + 0.1 * rng.normal(size=(200, 4))
    book = codec.k_means(x, 5, rng)
    nearest = codec.nearest(centres, book)
    assert sorted(nearest) == list(range(5))
    np.testing.assert_allclose(book[nearest], centres, atol=0.1)


def test_fewer_vectors_than_codes():
    """What is there is kept whole; codes without a vector take nothing."""
    mel = np.float32([[1, 2], [3, 4], [5, 6]])
    learned = codec.learn([mel], 1, 2, 8, 0)
    np.testing.assert_allclose(learned.decode(learned.encode(mel)), mel, atol=1e-6)


def test_the_validation_split_teaches_nothing(mels, tmp_path, monkeypatch):
    seen = []
    true_learn = codec.learn
    monkeypatch.setattr(codec, "learn", lambda mels, *rest: seen.append(len(mels)) or true_learn(mels, *rest))
    manifest = make(mels, tmp_path / "made", **SIZES)
    assert seen == [manifest["splits"]["train"]["utterances"]]


def test_packing_keeps_every_stream(mels, made, tmp_path):
    folder, manifest = made
    packed = make(mels, tmp_path / "packed", **SIZES, pack=80)
    assert "sound" in check(tmp_path / "packed")
    for split in ("train", "validation"):
        alone = rows_of(folder, manifest, split)
        together = rows_of(tmp_path / "packed", packed, split)
        assert len(together) < len(alone) and all(len(tokens) <= 80 for tokens, _ in together.values())
        cut = []
        for tokens, targets in together.values():
            ends = np.flatnonzero(targets == packed["codec"]["end"]) + 1
            assert ends[-1] == len(tokens)
            cut += zip(np.split(tokens, ends[:-1]), np.split(targets, ends[:-1]))
        sort = lambda rows: sorted((t.tolist(), y.tolist()) for t, y in rows)  # noqa: E731
        assert sort(cut) == sort(alone.values())


@pytest.mark.parametrize("fault", ["target", "outside", "codebooks"])
def test_check_finds_faults(mels, tmp_path, monkeypatch, fault):
    """Planted while the corpus is made, so that every hash is right but the last one's."""

    def wrong(phones, codes, words):
        good = row(phones, codes, words)
        if fault == "target":
            good.targets[len(phones)] = words.end - 1
        elif fault == "outside":
            good.tokens[-1] = good.targets[-2] = words.tokens
        return good

    monkeypatch.setattr("tts.data.tokens.row", wrong)
    make(mels, tmp_path / "made", **SIZES)
    if fault == "codebooks":
        path = tmp_path / "made" / "codebooks.safetensors"
        path.write_bytes(path.read_bytes()[:-1] + b"x")
    expected = {"target": "not the next token", "outside": "outside the", "codebooks": "sha256"}
    with pytest.raises(InputError, match=expected[fault]):
        check(tmp_path / "made")


def test_refusals(mels, tmp_path):
    with pytest.raises(InputError, match="corpus of mels itself"):
        make(mels, mels, **SIZES)
    with pytest.raises(InputError, match="alone has"):
        make(mels, tmp_path / "packed", **SIZES, pack=20)
    make(mels, tmp_path / "made", **SIZES)
    with pytest.raises(InputError, match="has no mels"):
        make(tmp_path / "made", tmp_path / "again", **SIZES)
