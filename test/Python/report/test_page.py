"""The page: the right figures, whole HTML, nothing from outside, and what it says when something is missing."""

import json
import re
from html.parser import HTMLParser

import pytest
from small_run import MIB, metrics, plan, write_metrics, write_sound

from tts.report.page.markup import tag
from tts.report.page.scales import Scale, duration, fit, number

VOID = {"meta", "br", "input"}


class Page(HTMLParser):
    """Elements with their attributes and the text below each; fails where an end does not match its start."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements = [], []
        self.feed(text)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, name, attributes):
        element = {"tag": name, "text": "", **dict(attributes)}
        self.elements.append(element)
        if name not in VOID:
            self.open.append(element)

    def handle_startendtag(self, name, attributes):
        self.elements.append({"tag": name, "text": "", **dict(attributes)})

    def handle_endtag(self, name):
        assert self.open and self.open[-1]["tag"] == name, f"</{name}> after {[e['tag'] for e in self.open]}"
        self.open.pop()

    def handle_data(self, text):
        for element in self.open:
            element["text"] += text

    def all(self, tag=None, **wanted):
        def holds(element):
            return all(element.get(key.rstrip("_").replace("_", "-")) == value for key, value in wanted.items())

        return [e for e in self.elements if tag in (None, e["tag"]) and holds(e)]

    def one(self, tag=None, **wanted):
        (found,) = self.all(tag, **wanted)
        return found

    def tiles(self):
        texts = [e["text"] for e in self.elements if e["tag"] in ("dt", "dd") and e.get("class") != "note"]
        return dict(zip(texts[::2], texts[1::2]))

    def paths(self, picture):
        """The paths of each figure with this picture."""
        found = []
        for figure in self.all("figure", data_picture=picture):
            rest = self.elements[self.elements.index(figure) + 1 :]
            end = next((i for i, e in enumerate(rest) if e["tag"] == "figure"), len(rest))
            found.append([e for e in rest[:end] if e["tag"] == "path"])
        return found

    def rows(self, **table):
        """The cells of each row of the table with these attributes."""
        begin = self.elements.index(self.one("table", **table))
        rows = []
        for element in self.elements[begin + 1 :]:
            if element["tag"] == "table":
                break
            if element["tag"] == "tr":
                rows.append([])
            elif element["tag"] in ("td", "th") and rows:
                rows[-1].append(element["text"])
        return rows


@pytest.fixture
def make(run_folder, tool):
    """Runs the tool on the folder and reads its page."""

    def run(*flags):
        done = tool("tts.report", run_folder, *flags)
        assert done.returncode == 0 and not done.stderr, done.stderr
        return Page((run_folder / "report.html").read_text())

    return run


def test_the_head_holds_the_figures(make):
    page = make("--title=Ada & <Bob>")
    assert page.one("h1")["text"] == page.one("title")["text"].removesuffix(": training report") == "Ada & <Bob>"
    tiles = page.tiles()
    assert tiles["Planned peak"] == "40 MiB" and tiles["Measured peak"] == "39 MiB"
    assert tiles["Updates"] == "120" and tiles["Time per update"] == "125 ms" and tiles["Training time"] == "15 s"
    assert tiles["Frames a second"] == "8\u202f000" and tiles["Padding"] == "20 %"
    assert tiles["Validation loss"] == "1" and tiles["Batch"] == "16 utterances an update"
    lead = page.one("p", class_="lead")["text"]
    assert lead == "Trained in 39 MiB of a budget of 64 MiB; an eager framework would hold 320 MiB for the same batch."


def test_classes_sum_to_the_peak(make):
    rows = make().rows(class_="classes")
    assert rows[-1][0] == "peak" and rows[-1][1] == "40 MiB"
    amounts = [int(row[3].replace("\u202f", "")) for row in rows[1:]]
    assert sum(amounts[:-1]) == amounts[-1] == 40 * MIB
    assert rows[4][0].startswith("activations") and rows[4][1:3] == ["11 MiB", "27.5 %"]


def test_buckets_and_changes_are_listed(make):
    page = make()
    rows = page.rows(aria_label="length buckets")
    assert rows[1] == ["0", "128", "624", "2", "none", "45 ms", "25.0 %", "30 MiB"]
    assert rows[2] == ["1", "16", "80", "8", "none", "12.5 ms", "75.0 %", "22 MiB"]
    assert [e["text"] for e in page.all("li")] == plan()["changes_numerics"]


def test_tensors_at_the_peak(make):
    page = make()
    rows = page.rows(class_="tensors")[1:]
    assert rows[0] == ["a.linear", "model.mlir:3", "activations", "forward → backward", "6 MiB"]
    assert rows[1] == ["a.linear.grad", "model.mlir:3", "activations", "backward", "5 MiB"]
    assert rows[2] == ["grad:w", "model.mlir:3:7", "gradients", "always", "4 MiB"]
    assert rows[6] == ["scratch", "", "workspace", "backward", "2 MiB"]
    assert page.one(id="tensors-where")["text"] == "backward[0], entry 3 of 5"
    assert page.one(id="tensors-bytes")["text"] == "30 MiB" and page.one(id="tensors-count")["text"] == "8 tensors"


def test_the_script_gets_every_buffer(make):
    data = json.loads(make().one("script", id="timeline-data")["text"])
    buffers, strings = data["buffers"], data["strings"]
    assert data["peak"] == 9 and {len(column) for column in buffers.values()} == {10}
    live = [i for i in range(10) if buffers["begin"][i] < 0 or buffers["begin"][i] <= 9 <= buffers["end"][i]]
    assert sum(buffers["size"][i] for i in live) == 30 * MIB
    assert strings[buffers["name"][6]] == "a.linear.grad" and strings[buffers["life"][5]] == "forward → backward"
    assert data["views"]["1"] == [0, 1, *range(12, 25), 27, 28]


def test_the_timeline_is_drawn_to_scale(make):
    page = make()
    shown, hidden = page.one("div", data_view="0"), page.one("div", data_view="1")
    assert "hidden" not in shown and "hidden" in hidden
    paths, arena = page.paths("live")[0], page.paths("map")[0]
    kinds = [p["class"].removeprefix("c-") for p in paths[:-1]]
    assert kinds == ["workspace", "activations", "batch", "optimizer", "gradients", "parameters"]  # painted in order
    height, limit = 4000, 1.06 * 30
    levels = {int(v) for v in re.findall(r"V(\d+)", paths[0]["d"])}
    for mib in (23, 28, 30, 22, 17):  # forward, its gradient, the scratch, without a.linear, at the end
        assert round(height * (1 - mib / limit)) in levels
    assert paths[-2]["d"] == f"M0 {round(height * (1 - 4 / limit))}H17V{height}H0Z"
    # On the map a.linear lives from entry 4 to 9 (of 17) at 17 MiB of the arena's 31; its gradient above it.
    boxes = {p["class"].removeprefix("c-"): p["d"] for p in arena[:-1]}
    at = {mib: round(height * (1 - mib / 31)) for mib in (17, 23, 28)}
    assert boxes["activations"] == (f"M4 {at[23]}H10v{at[17] - at[23]}H4Z" + f"M8 {at[28]}H11v{at[23] - at[28]}H8Z")
    assert boxes["parameters"].startswith("M0 ") and boxes["parameters"].endswith("H0Z")


def test_the_timeline_has_its_numbers(make):
    rows = make().rows(aria_label="live bytes of bucket 0, by program")
    assert rows[0][:4] == ["program", "entries", "most live bytes", "workspace"]
    assert rows[4][:5] == ["backward[0]", "5", "30 MiB", "2 MiB", "11 MiB"]
    assert rows[5][:3] == ["update", "3", "17 MiB"]


def test_curves_and_their_numbers(make):
    page = make()
    titles = [e["text"] for e in page.all("strong") if e["text"] != "Where it lies"]
    assert titles[:6] == ["Loss", "mel", "pitch", "Gradient norm", "Learning rate", "Frames a second"]
    rows = page.rows(aria_label="Loss, numbers")
    assert rows[0] == ["update", "training", "validation"]
    assert [row[0] for row in rows[1:]] == ["30", "60", "90", "120"] and rows[-1][2] == "1"
    chart = json.loads(page.all("script", class_="chart-data")[0]["text"])
    training, validation = chart["lines"]
    assert training["x"] == list(range(1, 121)) and training["raw"][-1] == 0.625
    assert validation["x"] == [30, 60, 90, 120] and all(0 <= y <= 1 for y in training["y"] + validation["y"])
    labels = [e["aria-label"] for e in page.all("div", role="img", class_="area")]
    assert any(label.startswith("Loss: training from 4.914 to ") for label in labels)


def test_samples_can_be_played(make, run_folder):
    (run_folder / "samples").mkdir()
    write_sound(run_folder / "samples" / "truth.wav")
    page = make()
    sounds = page.all("audio")
    assert [s["aria-label"] for s in sounds] == ["sample", "truth"]
    assert all(s["src"].startswith("data:audio/wav;base64,UklGR") for s in sounds)
    assert "Thank you <for> calling." in page.one("section", id="samples")["text"]


def test_too_much_sound_is_left_out(make, run_folder):
    write_sound(run_folder / "zebra.wav", seconds=70)
    page = make()
    assert [s["aria-label"] for s in page.all("audio")] == ["sample"]
    assert "Not in this page, which holds 1.25 MiB of sound: zebra.wav." in page.one("section", id="samples")["text"]


def test_nothing_comes_from_outside(make, run_folder):
    page = make()
    text = (run_folder / "report.html").read_text()
    assert not re.search(r"https?:|@import|url\(|fetch\(|XMLHttpRequest|import\(", text)
    for element in page.elements:
        for key in ("src", "href"):
            assert key not in element or element[key].startswith(("data:", "#")), element
    assert not page.all("link") and len(text) < 3 * MIB
    targets = {e["id"] for e in page.elements if "id" in e}
    assert {e["href"][1:] for e in page.all("a")} <= targets


def test_names_cannot_break_out(make, run_folder):
    content = plan()
    content["buffers"][5]["name"] = "</script><b onclick='x'>&"
    (run_folder / "train.plan.json").write_text(json.dumps(content))
    page = make()
    assert page.rows(class_="tensors")[1][0] == "</script><b onclick='x'>&"
    assert "</script><b onclick='x'>&" in json.loads(page.one("script", id="timeline-data")["text"])["strings"]
    assert not [e for e in page.elements if "onclick" in e]


def test_missing_parts_are_said(make, run_folder):
    for name in ("metrics.jsonl", "sample.wav", "model.mlir"):
        (run_folder / name).unlink()
    page = make()
    for key, name in (("training", "metrics.jsonl"), ("samples", "sound file"), ("evaluation", "evaluation.json")):
        assert f"There is no {name} in the folder" in page.one("section", id=key)["text"]
    assert page.one("p", class_="lead")["text"].startswith("Planned for 40 MiB of a budget")
    assert page.rows(class_="tensors")[1][1] == ""


def test_the_peak_is_that_of_training(make, run_folder):
    evaluated = [{"step": 120, "val_loss": 1.0, "val_losses": {}}, {"final": True, "measured_peak_bytes": 5 * MIB}]
    write_metrics(run_folder / "metrics.jsonl", metrics() + evaluated)
    assert make().tiles()["Measured peak"] == "39 MiB"


def test_a_run_that_was_killed_has_no_measured_peak(make, run_folder):
    write_metrics(run_folder / "metrics.jsonl", metrics(1)[:1])
    page = make()
    assert page.tiles()["Measured peak"] == "–" and page.tiles()["Updates"] == "1"


def test_a_plan_without_lifetimes_has_no_timeline(make, run_folder):
    content = plan()
    for b in content["buffers"]:
        b.pop("begin", None)
    (run_folder / "train.plan.json").write_text(json.dumps(content))
    page = make()
    assert "does not say when its buffers live" in page.one("section", id="moments")["text"]
    assert not page.all(id="timeline-data")


def evaluation(samples) -> dict:
    """As docs/evaluating.md writes it."""
    metrics = [
        {
            "key": "mcd.mel",
            "title": "MCD, predicted mel",
            "value": 5.5,
            "unit": "dB",
            "count": 5560,
            "of": "aligned frames",
        },
        {"key": "wer.predicted", "title": "word errors", "value": 55.625, "unit": "%", "count": 8, "of": "words"},
    ]
    rows = [
        {
            "id": name,
            "text": f"Say {name}.",
            "values": {"mcd.mel": value},
            "heard": {"predicted": "say"},
            "samples": files,
        }
        for name, value, files in samples
    ]
    head = {"version": 1, "weights": "run/best", "step": 1350, "split": "validation", "utterances": 30, "audible": 24}
    left_out = [{"what": f"wer.{s}", "reason": "the corpus has no transcripts"} for s in ("recording", "recorded")]
    return head | {"metrics": metrics, "recipes": {"mcd.mel": "13 coefficients"}, "left_out": left_out, "rows": rows}


def test_an_evaluation_is_shown(make, run_folder):
    (run_folder / "evaluation.json").write_text(json.dumps(evaluation([("a", 5.0, {})])))
    page = make()
    assert page.rows(class_="metrics")[1:] == [
        ["MCD, predicted mel", "5.5 dB", "5\u202f560 aligned frames"],
        ["word errors", "55.62 %", "8 words"],
    ]
    text = page.one("section", id="evaluation")["text"]
    assert "The validation split with run/best, update 1\u202f350: 30 utterances, 24 of them made audible" in text
    assert (
        "Left out: wer.recording, wer.recorded (the corpus has no transcripts)." in text and "13 coefficients" in text
    )
    assert page.rows(aria_label="evaluation of each utterance")[1] == ["aSay a.", "5"]


def test_evaluated_utterances_are_heard_together(make, run_folder):
    (run_folder / "samples").mkdir()
    samples = []
    for name, value in (("a", 5.0), ("b", 7.0), ("c", 6.0)):
        files = {system: f"samples/{name}.{system}.wav" for system in ("predicted", "recording")}
        samples.append((name, value, files))
        for file in files.values():
            write_sound(run_folder / file, seconds=0.1 if name != "c" else 40)
    (run_folder / "evaluation.json").write_text(json.dumps(evaluation(samples)))
    page = make()
    heard = [s["aria-label"] for s in page.all("audio")]
    assert heard == ["sample", "a, recording", "a, predicted", "b, recording", "b, predicted"]  # best, then worst
    text = page.one("section", id="samples")["text"]
    assert "Say b." in text and "MCD 7 dB" in text and "recogniser: say" in text
    assert text.endswith("which holds 1.25 MiB of sound: c.")


@pytest.mark.parametrize(
    "name, content, words",
    [
        ("train.plan.json", "nonsense", ["train.plan.json: not a plan"]),
        ("metrics.jsonl", "{}\n[]\n{}\n", ["metrics.jsonl:2: not a metrics line"]),
        ("evaluation.json", "[]", ["evaluation.json: not an evaluation"]),
        ("evaluation.json", '{"version": 2}', ["evaluation.json: not an evaluation (version 2, not 1)"]),
    ],
)
def test_bad_files_are_named(run_folder, tool, name, content, words):
    (run_folder / name).write_text(content)
    done = tool("tts.report", run_folder)
    assert done.returncode == 1 and done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
    assert all(word in done.stderr for word in words), done.stderr
    assert not (run_folder / "report.html").exists()


def test_bad_usage(run_folder, tool, tmp_path):
    assert tool("tts.report").returncode == 2
    for arguments, words in (
        ([tmp_path / "none"], "no such folder"),
        ([tmp_path], "no train.plan.json"),
        ([run_folder, "-o", tmp_path / "page.pdf"], "end it in .html"),
        ([run_folder, "--metrics", tmp_path / "none.jsonl"], "none.jsonl"),
        ([run_folder, "-o", tmp_path / "nowhere" / "page.html"], "nowhere"),
    ):
        done = tool("tts.report", *arguments)
        assert done.returncode == 1 and done.stderr.count("\n") == 1 and words in done.stderr, done.stderr


def test_ticks_are_round_and_inside():
    assert Scale(0, 1.06).ticks(4) == [0, 0.5, 1]
    assert Scale(0, 77.2).ticks(4) == [0, 20, 40, 60] and Scale(-3, 3).ticks(4) == [-2, 0, 2]
    assert Scale(0.3, 9.6, log=True).ticks(4) == pytest.approx([0.3, 0.5, 1, 2, 3, 5])
    assert fit([1.0, 1.1, 0.9, 1.0, 1.2]).low == 0 and not fit([1.0, 1.1, 0.9, 1.0, 1.2]).log
    assert fit([9.0, 1.0, 1.0, 0.9, 0.8]).log and fit([5.0, 5.0]).high > 5


def test_numbers_as_people_write_them():
    assert [number(v) for v in (0, 3, 1500, 12345.6, 0.25, 0.00025, 1.25e-7)] == [
        "0",
        "3",
        "1\u202f500",
        "12\u202f346",
        "0.25",
        "0.00025",
        "1.25e-7",
    ]
    assert [duration(s) for s in (0.02225, 4.5, 386, 7262)] == ["22.2 ms", "4.5 s", "6 min 26 s", "2 h 01 min"]


def test_markup_escapes():
    assert (
        tag("a", "<&", tag("b"), title='"', cls="x", hidden=True, id=None)
        == '<a title="&quot;" class="x" hidden>&lt;&amp;<b></b></a>'
    )
