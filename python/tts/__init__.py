"""Python side of the TTS training compiler: models, data preparation and the ctypes runtime."""
