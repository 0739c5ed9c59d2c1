"""A corpus in LJSpeech's layout -> ours.

    python -m deepvoice.recipes.corpora.ljspeech FOLDER --out DIR [--g2p last.pt]

FOLDER has metadata.csv (`id|text` or `id|text|normalised text`, a tab works too) and wavs/ID.wav; other sound files
that libsndfile or ffmpeg read are found as well, at any sample rate. A quote is a character of the text.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from deepvoice.recipes.corpora.recorded import add_common_arguments, import_from_arguments
from deepvoice.recipes.corpora.transcripts import Transcript


def find_recording(folder: Path, transcript: Transcript) -> Path:
    """Return the recording of a line of metadata.csv: wavs/ID with any suffix, .wav first."""
    name = transcript.id.removesuffix(".wav")
    wav = folder / "wavs" / f"{name}.wav"
    if wav.is_file():
        return wav
    others = sorted((folder / "wavs").glob(f"{_literal(name)}.*"))
    if not others:
        raise ValueError(
            f"{folder / 'metadata.csv'}:{transcript.line}: {wav} is missing; every line needs its recording"
        )
    return others[0]


def _literal(name: str) -> str:
    return "".join(f"[{character}]" if character in "*?[" else character for character in name)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Import a corpus in LJSpeech's layout.")
    parser.add_argument("folder", type=Path, help="folder with metadata.csv and wavs/")
    add_common_arguments(parser)
    arguments = parser.parse_args(argv)
    return import_from_arguments(
        arguments, arguments.folder / "metadata.csv", lambda transcript: find_recording(arguments.folder, transcript)
    )


if __name__ == "__main__":
    raise SystemExit(main())
