"""Models written with tts.nn; `python -m tts.models.<name> --size=… -o FILE` writes one as MLIR."""
