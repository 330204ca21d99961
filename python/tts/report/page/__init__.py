"""One self-contained HTML page about a run: what was planned, what was measured, what it learned, how it sounds."""
