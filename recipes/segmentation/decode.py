"""From the network's two readings to frames per symbol: alignment by pairs, and by frames."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from deepvoice.audio.mel import FloatArray
from deepvoice.models.segmentation import Segmentation, SegmentationOutput
from deepvoice.recipes.common.features import FeatureCache
from deepvoice.recipes.common.progress import progress
from deepvoice.recipes.segmentation.corpus import Batch, IntArray, Utterance, classes_of, collate
from deepvoice.recipes.segmentation.viterbi import viterbi
from deepvoice.text.phones import BASE_IDS, ENDS, NUM_SILENCES, PAUSES

_MAY_VANISH = tuple(BASE_IDS[symbol] for symbol in (*PAUSES, *ENDS))
_BATCH = 32


def _batches(
    model: Segmentation, cache: FeatureCache, utterances: Sequence[Utterance], label: str
) -> Iterator[tuple[list[Utterance], Batch, SegmentationOutput]]:
    """Run the network over utterances in order of length."""
    ordered = sorted(utterances, key=lambda utterance: utterance.frames)
    model.eval()
    starts = range(0, len(ordered), _BATCH)
    for start in progress(starts, label) if len(starts) > 1 else starts:
        chosen = ordered[start : start + _BATCH]
        batch = collate(cache, chosen, model.config.stack, model.typical.numpy())
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            output = model(batch.mel_BFM)
        yield chosen, batch, output


def boundaries_from_pairs(
    model: Segmentation, cache: FeatureCache, utterances: Sequence[Utterance]
) -> dict[str, NDArray[np.float64]]:
    """Align by the pairs alone: the best CTC path; a boundary lies in the middle of the steps that emit its pair.

    Returns by utterance id the boundaries between symbols in frames of 5 ms, float64 [P - 1].
    """
    result = {}
    for chosen, batch, output in _batches(model, cache, utterances, "pairs"):
        scores = output.pair_scores(batch.left_BU, batch.right_BU).numpy()
        B, T, U1 = scores.shape
        emission_BTS = np.empty((B, T, 2 * U1 - 1), np.float32)
        emission_BTS[:, :, 0::2], emission_BTS[:, :, 1::2] = scores[:, :, :1], scores[:, :, 1:]
        optional_BS = np.zeros((B, 2 * U1 - 1), bool)
        optional_BS[:, 0::2] = True  # blanks
        pairs_B = batch.pairs_B.numpy()
        paths = viterbi(emission_BTS, batch.steps_B.numpy(), 2 * pairs_B + 1, optional_BS)
        for utterance, path_T, pairs in zip(chosen, paths, pairs_B, strict=True):
            count = np.bincount(path_T, minlength=2 * pairs + 1)[1::2]
            centre = np.bincount(path_T, np.arange(len(path_T)) + 0.5, minlength=2 * pairs + 1)[1::2] / count
            result[utterance.id] = centre * model.config.stack
    return result


def _frames_heard_again(model: Segmentation, mel_BFM: torch.Tensor) -> FloatArray:
    """Return the phones of the frames from a pass with one frame in front, [B, F, V].

    The network's steps are of two frames: in this pass each frame has the other place in its step.
    """
    padded_BFM = torch.cat([mel_BFM[:, :1], mel_BFM, mel_BFM[:, -1:].expand(-1, model.config.stack - 1, -1)], dim=1)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        output = model(padded_BFM)
    return output.frame_BFV[:, 1 : mel_BFM.shape[1] + 1].numpy()


def durations_from_frames(
    model: Segmentation,
    cache: FeatureCache,
    utterances: Sequence[Utterance],
    pair_weight: float,
    passes: int = 1,
    least: int = 1,
) -> dict[str, IntArray]:
    """Align by the phone of each frame, with the pairs deciding between near equals.

    pair_weight: weight of log p(pair) - log p(blank) at the step in which a boundary falls
    passes: 2 averages the phones of a second pass over the frames, one frame further
    least: frames of a phone; where an utterance has too few for that, one
    Returns by utterance id the frames of each symbol, int64 [P]; phones have at least one, others may have none.
    """
    result = {}
    for chosen, batch, output in _batches(model, cache, utterances, "frames"):
        frame_BFV = output.frame_BFV.numpy()
        if passes == 2:
            frame_BFV = (frame_BFV + _frames_heard_again(model, batch.mel_BFM)) / 2
        scores = output.pair_scores(batch.left_BU, batch.right_BU).numpy()
        gain_BFU = np.repeat(pair_weight * (scores[:, :, 1:] - scores[:, :, :1]), model.config.stack, axis=1)
        for b, utterance in enumerate(chosen):
            symbol_S = _states(utterance, least)
            first_S = np.flatnonzero(np.diff(symbol_S, prepend=0))  # the states that a boundary leads to
            emission_FS = frame_BFV[b][:, classes_of(utterance.bases_P)[symbol_S]]
            entry_FS = np.zeros_like(emission_FS)
            entry_FS[:, first_S] = gain_BFU[b][:, symbol_S[first_S] - 1]
            optional_S = np.isin(utterance.bases_P[symbol_S], _MAY_VANISH)
            frames, states = np.array([utterance.frames]), np.array([len(symbol_S)])
            path_F = viterbi(emission_FS[None], frames, states, optional_S[None], entry_FS[None])[0]
            result[utterance.id] = np.bincount(symbol_S[path_F], minlength=len(utterance.bases_P)).astype(np.int64)
    return result


def _states(utterance: Utterance, least: int) -> IntArray:
    """Return the symbol of each state of an utterance's line: a phone has as many as the frames that it needs."""
    symbols = np.arange(len(utterance.bases_P))
    counts = np.where(utterance.bases_P < NUM_SILENCES, 1, least)
    return np.repeat(symbols, counts) if counts.sum() <= utterance.frames else symbols


def spectral_flux(mel_FM: NDArray[np.float16]) -> FloatArray:
    """How fast the spectrum changes at the start of each frame: RMS over bands of a 10 ms difference, float32 [F]."""
    mel = mel_FM.astype(np.float32)
    flux_F = np.zeros(len(mel), np.float32)
    flux_F[2:-1] = np.sqrt(np.mean((mel[2:-1] + mel[3:] - mel[1:-2] - mel[:-3]) ** 2, axis=1))
    return flux_F


def common_lag(
    boundaries: dict[str, NDArray[np.float64]],
    cache: FeatureCache,
    utterances: Sequence[Utterance],
    reach: int = 20,
) -> int:
    """Find how many frames later than the boundaries the spectrum changes most, on average over phone boundaries.

    CTC fixes the order of its labels but not their delay; one shift for the whole corpus removes it without any truth.
    """
    flux = np.zeros(2 * reach + 1)
    for utterance in utterances:
        inner = (utterance.bases_P[:-1] >= NUM_SILENCES) & (utterance.bases_P[1:] >= NUM_SILENCES)
        cuts = np.rint(boundaries[utterance.id][inner]).astype(np.int64)
        flux_F = np.pad(spectral_flux(cache[utterance.id].mel_FM), reach)
        for k in range(2 * reach + 1):
            flux[k] += flux_F[np.clip(cuts + k, 0, len(flux_F) - 1)].sum()
    return int(np.argmax(flux)) - reach
