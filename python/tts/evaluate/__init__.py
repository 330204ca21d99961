"""Judges a trained voice: losses, distances to the recording, recognised words, predicted opinion (docs/evaluating.md)."""
