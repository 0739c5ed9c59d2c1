"""The rise at the end of yes/no questions, which the corpus does not have: a contour added to the F0 model's."""

from deepvoice.prosody.durations import Timing
from deepvoice.synthesis import Prosody
from deepvoice.text.frontend import Sentence


def raise_question(prosody: Prosody, sentence: Sentence, timing: Timing) -> Prosody:
    """Return the prosody with a rise when the sentence is a yes/no question."""
    return prosody
