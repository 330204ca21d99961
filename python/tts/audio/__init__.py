"""Between waveforms and log-mel spectrograms, with the framing that the corpus manifest records."""

from tts.audio.features import Features, log_mel
from tts.audio.vocoder import griffin_lim
from tts.audio.wave import read_wav, write_wav

__all__ = ["Features", "griffin_lim", "log_mel", "read_wav", "write_wav"]
