"""Fits the planner's model of time to this machine: `python -m tts.calibrate -o host.json`."""
