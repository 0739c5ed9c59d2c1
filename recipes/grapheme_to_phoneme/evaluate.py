"""Score the grapheme-to-phoneme model on held-out word families, beside its baselines.

    python -m deepvoice.recipes.grapheme_to_phoneme.evaluate --data DIR (--checkpoint FILE | --voice NAME_OR_FOLDER)
        [--split test] [--beam 8] [--g2p-en checkpoint20.npz] [--graphones FILE] [--json FILE] [--errors N]

"network alone" is the model; "with morphology" reads the words as the speaking system would if its lexicon held the
training words only: derivations of known words first, then the network, weighed by analogy with known words.

Rates are in percent. "lenient" ignores stress and accepts any listed pronunciation (the target); "strict" ignores
stress and accepts the first listed one only; "stress" counts stress digits and accepts any listed pronunciation.
"""

import json
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from deepvoice.config import from_dict
from deepvoice.configs import GraphemeToPhonemeConfig
from deepvoice.networks.grapheme_to_phoneme import GraphemeToPhonemeNetwork
from deepvoice.recipes.common.command import scoring_parser
from deepvoice.recipes.grapheme_to_phoneme.baselines import G2pEnNetwork, LetterBaseline
from deepvoice.recipes.grapheme_to_phoneme.prepare import Entry, read
from deepvoice.recipes.grapheme_to_phoneme.score import score
from deepvoice.text.analogy import Analogy, Graphones
from deepvoice.text.lexicon import Entry as LexiconEntry
from deepvoice.text.lexicon import Lexicon, pack
from deepvoice.text.pronounce import Pronouncer as Reader

Pronouncer = Callable[[Sequence[str]], list[tuple[str, ...]]]
SCORINGS = {"lenient": (False, False), "strict": (False, True), "stress": (True, False)}  # stress, first_only


class WithMorphology:
    """Reads words as the front end does, with a lexicon of the training words alone."""

    def __init__(self, network: GraphemeToPhonemeNetwork, entries: Sequence[Entry], graphones: Graphones) -> None:
        """Compile the lexicon; from here on the network listens to it and to the graphones."""
        lexicon = _training_lexicon(entries)
        network.memory = Analogy(lexicon, graphones)
        self._reader = Reader(lexicon, network)

    def __call__(self, words: Sequence[str]) -> list[tuple[str, ...]]:
        """Return one pronunciation per word."""
        known = {word: self._reader.known(word) for word in words}
        guessed = self._reader.guess([word for word, found in known.items() if found is None])
        return [(known[word] or guessed[word]).phones for word in words]


def _training_lexicon(entries: Sequence[Entry]) -> Lexicon:
    words = {
        entry.word: LexiconEntry(entry.pronunciations, supplement=False)
        for entry in entries
        if entry.split == "train" and not entry.extra
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lexicon.bin"
        path.write_bytes(pack(words))
        return Lexicon(path)


def from_checkpoint(path: Path, beam: int) -> GraphemeToPhonemeNetwork:
    """Read the averaged weights of a training checkpoint, rounded to float16 as in a packed voice."""
    import numpy as np

    from deepvoice.recipes.common.checkpoint import load_checkpoint

    state = load_checkpoint(path)
    tensors = {name: value.numpy().astype(np.float16).astype(np.float32) for name, value in state["ema"].items()}
    return GraphemeToPhonemeNetwork(tensors, from_dict(GraphemeToPhonemeConfig, state["config"]), beam)


def from_voice(name: str, beam: int) -> GraphemeToPhonemeNetwork:
    """Read the network of a packed voice, by name or by path."""
    from deepvoice.voice import load_voice

    voice = load_voice(Path(name) if Path(name).is_dir() else name, ["grapheme_to_phoneme"])
    return GraphemeToPhonemeNetwork(voice.tensors["grapheme_to_phoneme"], voice.configs["grapheme_to_phoneme"], beam)


def evaluate(pronounce: Pronouncer, entries: Sequence[Entry]) -> dict[str, float]:
    """Return PER and WER under every scoring, and milliseconds per word."""
    start = time.perf_counter()
    said = pronounce([entry.word for entry in entries])
    row = {"ms_per_word": 1000.0 * (time.perf_counter() - start) / len(entries)}
    listed = [entry.pronunciations for entry in entries]
    for name, (stress, first_only) in SCORINGS.items():
        result = score(listed, said, stress=stress, first_only=first_only)
        row |= {f"{name}_per": result.phone_errors, f"{name}_wer": result.word_errors}
    return row


def table(rows: dict[str, dict[str, float]]) -> str:
    """Return the rows as a Markdown table."""
    head = ["model", *(f"{name} {rate}" for name in SCORINGS for rate in ("PER", "WER")), "ms/word"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for model, row in rows.items():
        cells = [f"{row[f'{name}_{rate}']:.2f}" for name in SCORINGS for rate in ("per", "wer")]
        lines.append("| " + " | ".join([model, *cells, f"{row['ms_per_word']:.2f}"]) + " |")
    return "\n".join(lines)


def show_errors(pronounce: Pronouncer, entries: Sequence[Entry], count: int) -> str:
    """Return up to `count` wrong words, evenly spread, with what was said and what is listed first."""
    wrong = []
    for entry, said in zip(entries, pronounce([entry.word for entry in entries]), strict=True):
        if score([entry.pronunciations], [said]).word_errors:
            wrong.append(f"{entry.word}: said {' '.join(said)}, listed {' '.join(entry.pronunciations[0])}")
    return "\n".join(wrong[:: max(1, len(wrong) // count)][:count])


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = scoring_parser("Score the grapheme-to-phoneme model on held-out words.")
    parser.add_argument("--beam", type=int, default=8, help="hypotheses kept (1 is greedy)")
    parser.add_argument("--g2p-en", type=Path, metavar="FILE", help="g2p_en/checkpoint20.npz out of the g2p-en wheel")
    parser.add_argument("--graphones", type=Path, metavar="FILE", help="compiled model (default: of the package)")
    parser.add_argument("--errors", type=int, default=0, metavar="N", help="list N of the wrong words")
    arguments = parser.parse_args(argv)
    entries, _ = read(arguments.data)
    chosen = [entry for entry in entries if entry.split == arguments.split]
    if arguments.checkpoint:
        network = from_checkpoint(arguments.checkpoint, arguments.beam)
    else:
        network = from_voice(arguments.voice, arguments.beam)
    rows = {"letter by letter": evaluate(LetterBaseline(entries), chosen)}
    if arguments.g2p_en:
        rows["g2p-en (was trained on these words)"] = evaluate(G2pEnNetwork(arguments.g2p_en), chosen)
    rows["ours, network alone"] = evaluate(network, chosen)
    reader = WithMorphology(network, entries, Graphones(arguments.graphones))
    rows["ours, with morphology"] = evaluate(reader, chosen)
    print(f"{len(chosen)} {arguments.split} words, no word of their families was trained on\n\n{table(rows)}")
    if arguments.errors:
        print("\n" + show_errors(reader, chosen, arguments.errors))
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
