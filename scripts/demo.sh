#!/bin/bash
# From speech to a trained voice on this machine's CPU, under a memory budget that the whole batch does not fit.
# Usage: scripts/demo.sh [--quick]. Leaves everything in demo-out/ and ends with the figures.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

budget=192M
steps=1500
audible=16
case "${1:-}" in
  "") ;;
  --quick)
    steps=100
    audible=8
    ;;
  *)
    echo "error: demo: unknown flag $1; the only one is --quick" >&2
    exit 2
    ;;
esac

say() { printf '\n== %s\n' "$*"; }

"$root/scripts/setup.sh"
python=$root/.venv/bin/python
export PYTHONPATH=$root/python
export PATH=$root/build/bin:$PATH
rm -rf demo-out
mkdir demo-out
cd demo-out

say "corpus: Asterisk's English prompts, one speaker"
"$python" -m tts.data prepare --out=corpus

say "model: FastSpeech 2, 3 M parameters, buckets from the corpus"
"$python" -m tts.models.fastspeech2 --size=small --batch=16 --corpus=corpus -o model.mlir

say "the whole batch of 16 at once does not fit $budget:"
if tts-compile --memory-budget=$budget --buckets-from=corpus --micro-batch=16 model.mlir -o train 2>refused.txt; then
  echo "error: demo: batch 16 fits $budget; lower the budget in scripts/demo.sh" >&2
  exit 1
fi
grep '^error:' refused.txt
rm refused.txt

say "the compiler's plan does, with the same batch of 16 an update"
tts-compile --memory-budget=$budget --buckets-from=corpus model.mlir -o train
tts-check train.plan.json --executable train

say "training: $steps updates"
./train --data=corpus --steps=$steps --seed=1 --lr=1e-3 --warmup=$((steps / 10)) --schedule=cosine \
  --eval-every=$((steps / 10)) --checkpoint-dir=run --checkpoint-every=$((steps / 4)) --keep=2 --save-best=val_loss \
  --log-dir=.

say "sample: one validation utterance, its own durations (teacher forcing), Griffin-Lim"
read -r id frames < <("$python" - <<'PYTHON'
import json, struct
from pathlib import Path

def utterances():
    """(id, frames) of the validation split, out of the shards' headers."""
    for path in sorted(Path("corpus").glob("validation-*.safetensors")):
        with path.open("rb") as file:
            header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        for name, entry in header.items():
            if name.endswith("/mel"):
                yield name.removesuffix("/mel"), entry["shape"][0]

print(*min(utterances(), key=lambda u: abs(u[1] - 200)))
PYTHON
)
./train --data=corpus --evaluate --resume=run/best --dump-outputs=outputs.safetensors --dump-utterances="$id"
"$python" -m tts.audio.sample --mel=outputs.safetensors --tensor="$id/mel" --manifest=corpus/manifest.json -o sample.wav
# A text of the same name is a sound's caption in the report.
text=$("$python" -c 'import json, sys; print(json.load(open("corpus/manifest.json"))["utterances"][sys.argv[1]]["text"])' "$id")
echo "“$text” The model's spectrogram with the recording's durations, pitch and energy, through Griffin-Lim." >sample.txt
echo "sample.wav: utterance $id, $frames frames, teacher-forced durations, pitch and energy"

say "how good it is: the best checkpoint on the validation split"
"$python" -m tts.evaluate --executable=train --weights=run/best --corpus=corpus --utterances=$audible --samples=samples \
  -o evaluation.json

say "speech: a sentence that nobody recorded, everything predicted"
text="Hello. This voice was trained under a memory budget."
"$python" -m tts.synthesize --model=train --weights=run/best --corpus=corpus "$text" -o hello.wav
echo "“$text” Nobody recorded it: durations, pitch, energy and spectrogram are the model's." >hello.txt

say "plots"
"$python" -m tts.report.plots loss --metrics=metrics.jsonl -o loss.png
"$python" -m tts.report.plots memory --plan=train.plan.json -o memory.png
"$python" -m tts.report . -o report.html

say "figures"
"$python" - <<'PYTHON'
import json

plan = json.load(open("train.plan.json"))
rows = [json.loads(line) for line in open("metrics.jsonl")]
steps = [row for row in rows if "step" in row and "loss" in row]
validation = [row for row in rows if "val_loss" in row]
last = rows[-1]
mib = 2**20
frames = sum(row["frames"] for row in steps) / sum(row["seconds"] for row in steps)
print(f"budget              {plan['budget_bytes'] / mib:9.1f} MiB")
print(f"planned peak        {last['planned_peak_bytes'] / mib:9.1f} MiB")
print(f"measured peak       {last['measured_peak_bytes'] / mib:9.1f} MiB")
print(f"arena               {last['planned_arena_bytes'] / mib:9.1f} MiB planned, {last['arena_high_water_bytes'] / mib:.1f} used")
print(f"eager, whole batch  {plan['eager_bytes'] / mib:9.1f} MiB")
print(f"training loss       {steps[0]['loss']:9.3f} -> {steps[-1]['loss']:.3f}")
print(f"validation loss     {validation[0]['val_loss']:9.3f} -> {validation[-1]['val_loss']:.3f}")
print(f"speed               {frames:9.0f} mel frames a second")
PYTHON
echo "demo-out/: train, train.plan.json, metrics.jsonl, memory.png, loss.png, sample.wav, hello.wav, evaluation.json, samples/, report.html"
