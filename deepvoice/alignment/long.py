"""Recordings of any length with one text: cut where both are certain, aligned piece by piece, put together again."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

import numpy as np

from deepvoice.alignment.anchors import Cut, choose_cuts, find_anchors, hear
from deepvoice.alignment.confidence import Fit
from deepvoice.alignment.decode import decode, place_boundaries
from deepvoice.alignment.describe import conclude, describe
from deepvoice.alignment.graph import compose
from deepvoice.alignment.result import AlignedPhone, AlignedWord, Alignment
from deepvoice.alignment.scores import FRAME_SECONDS, Network, class_scores
from deepvoice.alignment.settings import AlignerSettings
from deepvoice.alignment.stream import LongScores, read_scores
from deepvoice.alignment.transcript import Transcript
from deepvoice.audio.mel import FloatArray
from deepvoice.errors import AudioError
from deepvoice.text.phones import BASE_IDS, base

_SHORTEST, _WANTED = 3000, 9000  # frames of a piece: 15 to 45 s
_LONGEST = 400  # phones between anchors, about 30 s
_MOST_CELLS = 300 << 20  # bytes that the decoder of one piece may take


def align_pieces(
    network: Network, stack: int, pieces: Iterable[FloatArray], transcript: Transcript, settings: AlignerSettings
) -> Alignment:
    """Align samples at 24 kHz that come in pieces with their text.

    Raises AudioError where there is no sound, or less than the text needs.
    """
    scores = read_scores(network, stack, pieces)
    cuts = find_cuts(scores, transcript)
    edges = [Cut(0, 0), *cuts, Cut(len(transcript.words), len(scores.energy_F))]
    parts = [_align_part(scores, transcript, a, b, settings) for a, b in pairwise(edges)]
    return join(parts, transcript, settings)


def find_cuts(scores: LongScores, transcript: Transcript) -> list[Cut]:
    """Return where the recording and its text can be cut into pieces that are easy to align."""
    phones = [(BASE_IDS[base(p)], i) for i, word in enumerate(transcript.words) for p in word.variants[0]]
    text_P, word_P = np.array(phones, np.int64).T
    heard = hear(scores.class_F)
    anchors = find_anchors(text_P, heard.base_H, _LONGEST)
    cuts = choose_cuts(anchors, word_P, heard, len(scores.energy_F), _SHORTEST, _WANTED)
    # a piece begins with a step of the network
    return [Cut(cut.word, cut.frame // scores.stack * scores.stack) for cut in cuts]


def _align_part(
    scores: LongScores, transcript: Transcript, first: Cut, past: Cut, settings: AlignerSettings
) -> Alignment:
    words = transcript.words[first.word : past.word]
    frames = past.frame - first.frame
    graph = compose(words, settings.graph)
    readings = class_scores(scores.part(first.frame, past.frame), frames, settings.scores)
    band = None if frames * len(graph) <= _MOST_CELLS else max(64, _MOST_CELLS // frames // 2)
    segments = decode([readings], [graph], band)[0]
    if segments is None:
        at = first.frame * FRAME_SECONDS
        raise AudioError(
            f"{frames * FRAME_SECONDS:.2f} s of sound at {at:.1f} s cannot hold {len(words)} words; expected a "
            "recording of the whole text"
        )
    energy_F = scores.energy_F[first.frame : past.frame]
    boundaries = place_boundaries(segments, graph, readings, energy_F, settings.edges)
    part = Transcript(text=transcript.text, words=words, sentences=())
    offset = first.frame * FRAME_SECONDS
    return describe(part, graph, segments, boundaries, readings, settings.confidence, offset=offset)


def join(parts: list[Alignment], transcript: Transcript, settings: AlignerSettings) -> Alignment:
    """Put the alignments of pieces together; silences that meet become one."""
    words: list[AlignedWord] = []
    phones: list[AlignedPhone] = []
    for part in parts:
        at = len(words)
        for index, phone in enumerate(part.phones):
            if index == 0 and phones and phones[-1].word < 0 and phone.symbol == phones[-1].symbol:
                phones[-1] = replace(phones[-1], end=phone.end)
            else:
                phones.append(replace(phone, word=phone.word + at if phone.word >= 0 else -1))
        shift = len(phones) - len(part.phones)
        words += [replace(word, phones=(word.phones[0] + shift, word.phones[1] + shift)) for word in part.words]
    seconds = np.array([part.seconds for part in parts])
    counts = np.array([len(part.words) for part in parts])
    fit = Fit(
        float(np.average([part.fit.mean for part in parts], weights=seconds)),
        float(np.average([part.fit.skipped for part in parts], weights=counts)),
        float(np.average([part.fit.extra for part in parts], weights=seconds)),
    )
    extra = [span for part in parts for span in part.extra]
    return conclude(transcript, words, phones, extra, fit, settings.confidence)
