"""How a voice is tuned to a small corpus: few steps at small rates, from weights that can speak already."""

from dataclasses import dataclass, field
from pathlib import Path

from deepvoice.config import require_range


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Steps and rate of one module's training."""

    steps: int
    learning_rate: float

    def __post_init__(self) -> None:
        require_range("steps", self.steps, 1, 1_000_000)
        require_range("learning_rate", self.learning_rate, 1e-7, 0.1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """The TOML file of the recipe; the values fit 10 to 30 minutes of speech.

    What a module has to learn decides its rate: where the boundaries lie and what the spectrum looks like is new with
    every speaker; what durations and pitch depend on is not, and the mean and spread of the pitch come from the corpus.
    """

    pairs: Schedule = field(default_factory=lambda: Schedule(steps=150, learning_rate=5e-4))
    frames: Schedule = field(default_factory=lambda: Schedule(steps=150, learning_rate=5e-4))
    duration: Schedule = field(default_factory=lambda: Schedule(steps=300, learning_rate=3e-4))
    f0: Schedule = field(default_factory=lambda: Schedule(steps=400, learning_rate=5e-4))
    conditioner: Schedule = field(default_factory=lambda: Schedule(steps=800, learning_rate=5e-4))
    vocoder: Schedule = field(default_factory=lambda: Schedule(steps=1200, learning_rate=5e-4))
    ema: float = 0.98  # of durations and pitch; the averages of a short run must forget its beginning
    batch_size: int = 16  # sentences; of the segmentation, the durations and the pitch
    evaluations: int = 6  # in each training; the best by held-out figures is packed

    def __post_init__(self) -> None:
        require_range("ema", self.ema, 0.0, 0.9999)
        require_range("batch_size", self.batch_size, 1, 1024)
        require_range("evaluations", self.evaluations, 1, 1000)

    def every(self, schedule: Schedule) -> int:
        """Steps between the evaluations of a training."""
        return max(1, schedule.steps // self.evaluations)


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where everything of a tuning lies."""

    manifest: Path  # of the recordings, as `deepvoice prepare` writes it
    voice: str  # name or folder of the voice to begin from
    work: Path  # everything that is made on the way
    name: str = "mine"  # of the voice that comes of it

    @property
    def start(self) -> Path:
        """Checkpoints of the voice to begin from."""
        return self.work / "start"

    @property
    def corpus(self) -> Path:
        """The recordings at the level of the voice."""
        return self.work / "corpus" / "manifest.jsonl"

    @property
    def alignments(self) -> Path:
        """Frames of every symbol."""
        return self.corpus.parent / "alignments.jsonl"

    @property
    def out(self) -> Path:
        """The voice folder that comes of it."""
        return self.work / "voice"

    def run(self, module: str) -> Path:
        """Folder of a module's training."""
        return self.work / "runs" / module

    def data(self, module: str) -> Path:
        """Folder of what a module's prepare step writes."""
        return self.work / "data" / module

    def before(self, module: str) -> Path:
        """Checkpoint that a module begins from."""
        return self.start / module / "last.pt"

    def after(self, module: str) -> Path:
        """Checkpoint of a module that was tuned: the best by its held-out figure."""
        best = self.run(module) / "best.pt"
        return best if best.is_file() else self.run(module) / "last.pt"
