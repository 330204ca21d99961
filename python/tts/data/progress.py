"""Progress of long loops on stderr: one moving line on a terminal, a line at each quarter otherwise."""

import sys
import time


class Progress:
    def __init__(self, label: str, total: int, unit: str = "utterances"):
        self.label, self.total, self.unit = label, total, unit
        self.done, self.start, self.quarter = 0, time.monotonic(), 0
        self.moving = sys.stderr.isatty()

    def advance(self, count: int = 1) -> None:
        self.done += count
        quarter = 4 * self.done // max(self.total, 1)
        if self.moving or quarter > self.quarter:
            self.quarter = quarter
            self._print()

    def _print(self) -> None:
        seconds = time.monotonic() - self.start
        line = f"{self.label:<10} {self.done}/{self.total} {self.unit}, {seconds:.1f} s"
        end = "\n" if not self.moving or self.done >= self.total else ""
        print(("\r\033[K" if self.moving else "") + line, end=end, file=sys.stderr, flush=True)
