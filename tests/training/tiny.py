"""Tiny corpora and settings for the recipes, and what a forked process of a test does with them.

Run by path in processes that a server forks, which has imported torch and the recipes once for all of them.
"""

import json
import os
import resource
import signal
import sys
from pathlib import Path

MODULES = ("segmentation", "frames", "grapheme_to_phoneme", "duration", "f0", "vocoder")
PRELOAD = [
    "torch", "torch._dynamo", "torch.utils.tensorboard", "torch.distributed.launcher.api", "soundfile",
    "matplotlib.figure", "matplotlib.backends.backend_agg", "deepvoice.commands.program",
    "deepvoice.recipes.common.launch", "deepvoice.recipes.segmentation.train",
    "deepvoice.recipes.grapheme_to_phoneme.train", "deepvoice.recipes.duration.train", "deepvoice.recipes.f0.train",
    "deepvoice.recipes.vocoder.train",
]  # fmt: skip
TONES = {"AA1": 300.0, "IY1": 900.0, "S": 4000.0, "M": 150.0, "K": 2200.0}
SETTINGS = {
    "segmentation": """
        [model]
        channels = 12
        layers = 2
        dropout = 0.2
        [training]
        batch_size = 5
        pair_steps = 50
        pair_rate = 0.0005
        frame_steps = 1
        varied_steps = 1
    """,
    "frames": """
        [model]
        channels = 12
        layers = 2
        dropout = 0.2
        [training]
        batch_size = 5
        varied_steps = 50
    """,
    "grapheme_to_phoneme": """
        [model]
        letter_dim = 8
        encoder_layers = 1
        encoder_dim = 12
        decoder_dim = 16
        unit_dim = 8
        dropout = 0.2
        [training]
        epochs = 10.0
        mixed = 0.5
        letters_per_batch = 60
        learning_rate = 1e-2
        weight_decay = 0.01
        ema = 0.9
        clip = 1.0
        forget = 0.1
        smoothing = 0.05
        evaluate_every = 50
        seed = 0
    """,
    "duration": """
        [model]
        channels = 12
        layers = 1
        recurrent = 6
        hidden = 12
        buckets = 24
        dropout = 0.2
        [training]
        steps = 50
        batch_size = 7
        learning_rate = 1e-2
        weight_decay = 0.01
        ema = 0.9
        evaluate_every = 50
        seed = 0
    """,
    "f0": """
        [model]
        channels = 12
        layers = 1
        recurrent = 6
        frame_channels = 8
        dropout = 0.2
        [training]
        steps = 50
        batch_size = 7
        learning_rate = 1e-2
        weight_decay = 0.01
        ema = 0.9
        voicing_weight = 1.0
        evaluate_every = 50
        seed = 0
    """,
    "vocoder": """
        steps = 50
        batch_size = 3
        segment_frames = 12
        learning_rate = 5e-3
        ema = 0.9
        evaluate_every = 50
        [vocoder]
        dilations = [1, 2]
        residual = 8
        skip = 8
        head = 8
        history = 8
        head_history = 4
        harmonics = 2
    """,
}
SETTINGS["stages"] = SETTINGS["frames"].replace("varied_steps = 50", "rounds = 1")


def write_corpora(folder: Path) -> None:
    """Write the data and the settings of all modules into a folder."""
    for name, text in SETTINGS.items():
        lines = [line.strip() for line in text.splitlines()]
        (folder / f"{name}.toml").write_text("\n".join(lines))
    write_recordings(folder / "manifest.jsonl")
    write_sentences(folder / "sentences")
    write_words(folder / "words")


def write_recordings(manifest: Path) -> None:
    """Write 20 recordings of tones of 1.2 s, and their features."""
    import numpy as np
    import soundfile

    from deepvoice.audio.mel import MelSpec
    from deepvoice.recipes.common.features import build_cache

    random = np.random.default_rng(0)
    rows, aligned = [], []
    for number in range(20):
        phones = [str(phone) for phone in random.choice(list(TONES), 5)]
        lengths = random.integers(30, 44, 5) * 120
        pairs = zip(phones, lengths, strict=True)
        parts = [0.2 * np.sin(2 * np.pi * TONES[phone] * np.arange(length) / 24000) for phone, length in pairs]
        edge = np.zeros((28800 - int(lengths.sum())) // 2)
        soundfile.write(manifest.parent / f"{number}.wav", np.concatenate([edge, *parts, edge]), 24000)
        word_of = [-1, 0, 0, 0, 0, 0, -1]
        line = " ".join(["sil", *phones, "."])
        rows.append({"id": f"u{number}", "audio": f"{number}.wav", "phones": line, "word_of": word_of})
        ends = [len(edge) // 120, *(lengths // 120).tolist()]
        aligned.append({"id": f"u{number}", "durations": [*ends, 240 - sum(ends)]})
    manifest.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (manifest.parent / "alignments.jsonl").write_text("".join(json.dumps(row) + "\n" for row in aligned))
    build_cache(manifest, manifest.parent / "features", MelSpec())


def write_first_stages(out: Path, data: Path) -> None:
    """Write what the last stage of the segmentation begins with: weights, and where the tones are."""
    import torch

    from deepvoice.config import load_toml, to_dict
    from deepvoice.models.segmentation import Segmentation
    from deepvoice.recipes.common.checkpoint import save_checkpoint
    from deepvoice.recipes.segmentation.settings import Settings

    torch.manual_seed(0)
    config = load_toml(Settings, data / "frames.toml").model
    state = {"config": to_dict(config), "meta": {}, "ema": Segmentation(config).state_dict()}
    for stage in ("pairs", "frames"):
        (out / stage).mkdir(parents=True)
        (out / stage / "alignments.jsonl").write_text((data / "alignments.jsonl").read_text())
        save_checkpoint(state, out / stage / "last.pt")


def write_sentences(folder: Path) -> None:
    """Write aligned sentences of several lengths for the duration and F0 models."""
    import numpy as np

    from deepvoice.recipes.common.sentences import Sentence, save
    from deepvoice.text.sequence import from_manifest

    random = np.random.default_rng(1)
    folder.mkdir()
    for part, count in (("train", 23), ("dev", 5), ("test", 2)):
        sentences = []
        for number in range(count):
            phones = [str(phone) for phone in random.choice(list(TONES), int(random.integers(3, 9)))]
            symbols = ["sil", *phones, "."]
            durations_P = random.integers(2, 9, len(symbols))
            f0_F = np.repeat(random.uniform(80, 300, len(symbols)), durations_P).astype(np.float32)
            f0_F *= random.random(len(f0_F)) < 0.7
            sequence = from_manifest(" ".join(symbols), [-1, *[0] * len(phones), -1])
            name = f"{part}{number}"
            sentences.append(Sentence(name=name, sequence=sequence, durations_P=durations_P, speed=1.0, f0_F=f0_F))
        save(sentences, folder / f"{part}.npz")


def write_words(folder: Path) -> None:
    """Write words that are said as they are spelled, of 3 and 4 letters."""
    from deepvoice.recipes.grapheme_to_phoneme.prepare import Entry, write

    sounds = {"b": "B", "d": "D", "k": "K", "t": "T", "s": "S", "a": "AE1", "i": "IH1", "o": "AA1"}
    words = [a + v + b + c for a in "bdkts" for v in "aio" for b in "bdks" for c in ("", "t")]
    entries = []
    for number, word in enumerate(words):
        said = tuple(sounds[letter] for letter in word)
        part = "dev" if number % 10 == 0 else "train"
        units = () if part == "dev" else (said,)
        entries.append(Entry(word=word, split=part, pronunciations=(said,), units=units, extra=number % 7 == 0))
    folder.mkdir()
    write(entries, tuple(dict.fromkeys(["", *sounds.values()])), folder)


def arguments(module: str, data: Path, out: Path, *more: str) -> list[str]:
    """Return the command line that trains a module on the tiny corpora."""
    place = {"grapheme_to_phoneme": "words", "duration": "sentences", "f0": "sentences"}.get(module, "manifest.jsonl")
    common = ["--float32", "--device", "cpu", "--threads", "1", "--log-every", "1", "--timeout", "120"]
    files = [str(data / f"{module}.toml"), "--data", str(data / place), "--out", str(out)]
    return ["train", "segmentation" if module in ("frames", "stages") else module, *files, *common, *more]


def perform(task: dict) -> None:
    """Do what a test asks of a process.

    log: where what it prints goes; commands: command lines of `deepvoice`, each with its port when there are several
    processes; rank, world: of this process; kill, terminate: (rank, step) at which the process sends itself that
    signal; file_limit: the most bytes that a file may have
    """
    with Path(task["log"]).open("a") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        sys.stdout = sys.stderr = log
        log.reconfigure(line_buffering=True)
        if "world" in task:
            os.environ |= {"RANK": str(task["rank"]), "LOCAL_RANK": str(task["rank"]), "WORLD_SIZE": str(task["world"])}
            os.environ["MASTER_ADDR"] = "127.0.0.1"
        if "file_limit" in task:
            resource.setrlimit(resource.RLIMIT_FSIZE, (task["file_limit"], task["file_limit"]))
        for name, number in (("kill", signal.SIGKILL), ("terminate", signal.SIGTERM)):
            if name in task:
                send_at(number, *task[name])
        from deepvoice.commands.program import run

        status = 0
        for number, command in enumerate(task["commands"]):
            if "ports" in task:
                os.environ["MASTER_PORT"] = str(task["ports"][number])
            try:
                status = run(command)
            except SystemExit as end:
                status = end.code
            if status:
                break
        log.write(f"processor seconds {sum(os.times()[:2]):.2f}\n")
        log.flush()
    sys.exit(status)


def send_at(number: int, rank: int, step: int) -> None:
    """Have this process send itself a signal when it computes a step, if it has that rank and was not restarted."""
    if os.environ.get("RANK", "0") != str(rank) or os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") != "0":
        return
    from deepvoice.recipes.common import step as steps

    compute = steps.Gradients.compute

    def watched(self, source, at, *more):
        if at == step:
            os.kill(os.getpid(), number)
        return compute(self, source, at, *more)

    steps.Gradients.compute = watched


if __name__ == "task":
    perform(TASK)  # noqa: F821 - set by runpy
