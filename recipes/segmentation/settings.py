"""Settings of the segmentation recipe, as config.toml holds them."""

from dataclasses import dataclass, field
from pathlib import Path

from deepvoice.alignment.edges import EdgeRule
from deepvoice.config import require_range
from deepvoice.configs import SegmentationConfig
from deepvoice.recipes.segmentation.augment import Augmentation
from deepvoice.recipes.segmentation.gaps import GapRule


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSettings:
    """The schedule: pairs by CTC, then frames and boundaries on the alignments that the stage before gave, twice.

    rounds: how often the last stage is repeated, each time on the alignment by the network that came out of it
    """

    hours: float = 100.0  # of the corpus, from its beginning
    batch_size: int = 8
    pair_steps: int = 600
    pair_rate: float = 2e-3
    frame_steps: int = 600
    frame_rate: float = 1e-3
    varied_steps: int = 1800  # with the changes of `augmentation`
    varied_rate: float = 2e-3
    rounds: int = 0
    round_steps: int = 1800
    round_rate: float = 1e-3
    ema: float = 0.995
    seed: int = 0

    def __post_init__(self) -> None:
        require_range("training.hours", self.hours, 0.001, 100_000.0)
        require_range("training.batch_size", self.batch_size, 1, 4096)
        for stage in ("pair", "frame", "varied", "round"):
            require_range(f"training.{stage}_steps", getattr(self, f"{stage}_steps"), 1, 10_000_000)
            require_range(f"training.{stage}_rate", getattr(self, f"{stage}_rate"), 1e-7, 0.1)
        require_range("training.rounds", self.rounds, 0, 100)
        require_range("training.ema", self.ema, 0.0, 0.99999)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignmentSettings:
    """How the network's readings become durations; see `decode`."""

    pair_weight: float = 0.5
    passes: int = 1
    least_frames: int = 6
    edge_reach: int = 12
    edge_threshold: float = 0.25
    gap_frames: int = 0
    gap_depth: float = 35.0

    def __post_init__(self) -> None:
        require_range("alignment.pair_weight", self.pair_weight, 0.0, 10.0)
        require_range("alignment.passes", self.passes, 1, 2)
        require_range("alignment.least_frames", self.least_frames, 1, 20)
        require_range("alignment.edge_reach", self.edge_reach, 0, 200)
        require_range("alignment.edge_threshold", self.edge_threshold, 0.0, 1.0)
        require_range("alignment.gap_frames", self.gap_frames, 0, 200)
        require_range("alignment.gap_depth", self.gap_depth, 10.0, 100.0)

    @property
    def edges(self) -> EdgeRule:
        """The rule for the edges of silences."""
        return EdgeRule(reach=self.edge_reach, threshold=self.edge_threshold)

    @property
    def gaps(self) -> GapRule:
        """The rule for silences between words that have no symbol."""
        return GapRule(frames=self.gap_frames, depth=self.gap_depth)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What config.toml holds."""

    model: SegmentationConfig = field(default_factory=SegmentationConfig)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    augmentation: Augmentation = field(default_factory=Augmentation)
    alignment: AlignmentSettings = field(default_factory=AlignmentSettings)


def default_config() -> Path:
    """Return the path of the recipe's config.toml."""
    return Path(__file__).with_name("config.toml")
