"""Everything that an aligner weighs, in one place."""

from dataclasses import dataclass, field

from deepvoice.alignment.confidence import ConfidenceRule
from deepvoice.alignment.edges import EdgeRule
from deepvoice.alignment.graph import GraphWeights
from deepvoice.alignment.scores import ScoreWeights


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignerSettings:
    """Everything that is weighed; the defaults are fitted to the network of the package."""

    graph: GraphWeights = field(default_factory=GraphWeights)
    scores: ScoreWeights = field(default_factory=ScoreWeights)
    edges: EdgeRule = field(default_factory=EdgeRule)
    confidence: ConfidenceRule = field(default_factory=ConfidenceRule)
