"""Log-mels against their definition, back to waveforms, WAV files, and the sample tool."""

import dataclasses
import json

import numpy as np
import pytest

from tts.audio import Features, griffin_lim, log_mel, read_wav, write_wav
from tts.data import shards
from tts.data.errors import InputError
from tts.data.synthetic import Range, synthesize

RATE = 16000


def voice(seconds: float = 1.2) -> np.ndarray:
    """A gliding harmonic sound with a silent gap: something like a voice."""
    time = np.arange(int(seconds * RATE)) / RATE
    phase = 2 * np.pi * np.cumsum(180 + 60 * np.sin(3 * time)) / RATE
    wave = sum(np.sin(k * phase) / k for k in range(1, 12)) * 0.15
    return (wave * (np.sin(9 * time) > -0.6)).astype(np.float32)


def test_log_mel_is_the_documented_transform():
    features, wave = Features(), voice(0.4)
    mel = log_mel(wave)
    assert mel.shape == (1 + len(wave) // features.hop, features.n_mels) and mel.dtype == np.float32
    padded = np.pad(wave.astype(np.float64), features.n_fft // 2, mode="reflect")
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(features.n_fft) / features.n_fft)
    frames = [padded[i * features.hop : i * features.hop + features.n_fft] * window for i in range(len(mel))]
    spectrum = np.abs(np.fft.rfft(frames, axis=1))
    expected = np.log(np.maximum(spectrum @ slaney_filters(features).T, 1e-5))
    np.testing.assert_allclose(mel, expected, atol=2e-3)


def slaney_filters(features: Features) -> np.ndarray:
    """Triangles on Slaney's scale, each of unit area, from the definition."""

    def to_hertz(mel):
        return np.where(mel < 15, mel * 200 / 3, 1000 * np.exp((mel - 15) * np.log(6.4) / 27))

    top = 15 + 27 * np.log(features.fmax / 1000) / np.log(6.4)
    edges = to_hertz(np.linspace(0, top, features.n_mels + 2))
    bins = np.arange(features.n_fft // 2 + 1) * features.sample_rate / features.n_fft
    rising = (bins - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    falling = (edges[2:, None] - bins) / (edges[2:] - edges[1:-1])[:, None]
    return np.maximum(0, np.minimum(rising, falling)) * (2 / (edges[2:] - edges[:-2]))[:, None]


def test_silence_is_the_clamp():
    assert np.all(log_mel(np.zeros(4096, np.float32)) == np.float32(np.log(np.float32(1e-5))))


def test_every_field_is_in_the_hash():
    features, seen = Features(), {Features().hash()}
    for field in dataclasses.fields(Features):
        value = getattr(features, field.name)
        changed = dataclasses.replace(features, **{field.name: value + ("x" if isinstance(value, str) else 1)})
        seen.add(changed.hash())
    assert len(seen) == 1 + len(dataclasses.fields(Features))


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"features": Features().describe() | {"hop": 200}}, "features_hash does not match"),
        ({"features": Features().describe() | {"dither": 1}}, "does not know"),
        (
            {
                "features": dataclasses.replace(Features(), framing="left").describe(),
                "features_hash": dataclasses.replace(Features(), framing="left").hash(),
            },
            "features.framing",
        ),
    ],
)
def test_other_features_are_refused(change, wrong):
    manifest = {"features": Features().describe(), "features_hash": Features().hash()}
    assert Features.from_manifest(manifest) == Features()
    with pytest.raises(InputError, match=wrong):
        Features.from_manifest(manifest | change)


def test_griffin_lim_round_trip():
    wave = voice()
    mel = log_mel(wave)
    back = griffin_lim(mel)
    again = log_mel(back)[: len(mel)]
    loud = mel > -5
    assert abs(len(back) - len(wave)) < Features().hop
    assert np.abs(again - mel)[loud].mean() < 0.4
    # More iterations must help, or the phases are not being found.
    rough = log_mel(griffin_lim(mel, iterations=1))[: len(mel)]
    assert np.abs(again - mel)[loud].mean() < np.abs(rough - mel)[loud].mean()


def test_wav_round_trip_and_clipping(tmp_path):
    wave = np.concatenate([voice(0.1), [1.5, -1.5]]).astype(np.float32)
    write_wav(tmp_path / "a.wav", wave, RATE)
    back, rate = read_wav(tmp_path / "a.wav")
    assert rate == RATE and [p.name for p in tmp_path.iterdir()] == ["a.wav"]
    np.testing.assert_allclose(back, np.clip(wave, -1, 1), atol=1e-4)
    (tmp_path / "b.wav").write_bytes(b"not audio")
    with pytest.raises(InputError, match="not a WAV"):
        read_wav(tmp_path / "b.wav")


def test_sample_tool(tmp_path, tool):
    corpus = tmp_path / "corpus"
    synthesize(corpus, 4, 0, Range(8, 12), Range(32, 40))
    manifest = json.loads((corpus / "manifest.json").read_text())
    mel, stats = log_mel(voice(0.5)), manifest["statistics"]
    stored = ((mel - stats["mel_mean"]) / stats["mel_std"]).astype(np.float32)
    padded = np.concatenate([stored, np.zeros((9, 80), np.float32)])[None]
    (tmp_path / "mel.safetensors").write_bytes(shards.encode({"mel": padded, "bad": padded[0] * np.float32("nan")}, {}))
    shared = ["--manifest", corpus / "manifest.json", "-o", tmp_path / "a.wav"]
    done = tool(
        "tts.audio.sample", "--mel", tmp_path / "mel.safetensors", "--frames", len(mel), "--iterations", 8, *shared
    )
    assert done.returncode == 0, done.stderr
    wave, rate = read_wav(tmp_path / "a.wav")
    assert rate == RATE and len(wave) == (len(mel) - 1) * 256
    again = log_mel(wave)
    assert np.abs(again - mel)[mel > -4].mean() < 0.5  # in the log scale again, not the standardised one
    for tensor, wrong in (("mels", "no tensor mels"), ("bad", "not finite")):
        done = tool("tts.audio.sample", "--mel", tmp_path / "mel.safetensors", "--tensor", tensor, *shared)
        assert done.returncode == 1
        assert done.stderr.startswith("error: ") and wrong in done.stderr and done.stderr.count("\n") == 1
