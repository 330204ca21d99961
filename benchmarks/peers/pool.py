"""Workers as processes on pipes, and their steps taken in turns."""

import json
import subprocess
import time

PAUSE = 0.1  # seconds for the last one's threads to fall asleep before the next one steps


class WorkerFailure(RuntimeError):
    """A worker ended before its answer."""


class Worker:
    def __init__(self, name, command, environment, log):
        self.name, self.log = name, log
        with open(log, "w") as errors:
            self.process = subprocess.Popen(
                [str(c) for c in command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                bufsize=1,
                env=environment,
            )
        self.baseline = self._answer()["baseline"]

    def ask(self, do, **more):
        try:
            print(json.dumps({"do": do, **more}), file=self.process.stdin, flush=True)
        except BrokenPipeError:
            pass  # the answer is missing too, and says it
        return self._answer()

    def close(self):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def _answer(self):
        line = self.process.stdout.readline()
        if line:
            return json.loads(line)
        code = self.process.wait()
        with open(self.log) as log:
            said = [text.strip() for text in log if text.strip()]
        raise WorkerFailure(f"worker {self.name}: exit {code}: {said[-1][:300] if said else 'said nothing'}")


def interleave(workers, rounds, warmup=1, pause=PAUSE, report=lambda *_: None):
    """One step of each in turn, `rounds` times; (wall, processor) seconds per worker without those of the warm-up."""
    times = {worker.name: ([], []) for worker in workers}
    for turn in range(warmup + rounds):
        for worker in workers:
            time.sleep(pause)
            told = worker.ask("step", update=turn + 1)
            report(worker.name, turn, told)
            if turn >= warmup:
                times[worker.name][0].append(told["seconds"])
                times[worker.name][1].append(told["processor_seconds"])
    return times
