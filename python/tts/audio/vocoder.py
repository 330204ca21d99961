"""From a log-mel spectrogram back to a waveform by Griffin-Lim."""

import numpy as np

from tts.audio.features import Features, mel_basis


def griffin_lim(mel: np.ndarray, features: Features | None = None, iterations: int = 60, seed: int = 0) -> np.ndarray:
    """A waveform in [-1, 1] whose log-mel is close to `mel` [frames, n_mels] (log scale, not standardised)."""
    import librosa

    features = features or Features()
    linear = np.exp(np.asarray(mel, np.float64).T)
    spectrum = librosa.util.nnls(mel_basis(features).astype(np.float64), linear)
    wave = librosa.griffinlim(
        spectrum,
        n_iter=iterations,
        hop_length=features.hop,
        win_length=features.win,
        n_fft=features.n_fft,
        window=features.window,
        center=True,
        pad_mode="reflect",
        random_state=seed,
    )
    return np.clip(wave, -1.0, 1.0).astype(np.float32)
