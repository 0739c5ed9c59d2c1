"""The prompts of Asterisk, one professional speaker at 16 kHz -> a corpus.

    apt-get install asterisk-core-sounds-en-g722 ffmpeg
    python -m deepvoice.recipes.corpora.asterisk TRANSCRIPTS --out DIR [--sounds FOLDER] [--g2p last.pt]

TRANSCRIPTS has a line `name<TAB>text` for every prompt to use; names may have folders (digits/1). The recordings are
CC-BY-SA 3.0 (Digium, voice of Allison Smith): good for trying the recipes on real speech, not for a voice to publish.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from deepvoice.recipes.corpora.recorded import add_common_arguments, import_from_arguments
from deepvoice.recipes.corpora.transcripts import Transcript

SOUNDS = Path("/usr/share/asterisk/sounds/en_US_f_Allison")  # where the Debian package puts them


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Import Asterisk's prompts.")
    parser.add_argument("transcripts", type=Path, help="name<TAB>text")
    parser.add_argument("--sounds", type=Path, default=SOUNDS, metavar="FOLDER", help=f"default: {SOUNDS}")
    add_common_arguments(parser)
    arguments = parser.parse_args(argv)
    if not arguments.sounds.is_dir():
        print(f"error: {arguments.sounds} is missing; apt-get install asterisk-core-sounds-en-g722, or give --sounds")
        return 1

    def find(transcript: Transcript) -> Path:
        path: Path = arguments.sounds / f"{transcript.id}.g722"
        if not path.is_file():
            raise ValueError(f"{arguments.transcripts}:{transcript.line}: {path} is missing; remove the line")
        return path

    return import_from_arguments(arguments, arguments.transcripts, find)


if __name__ == "__main__":
    raise SystemExit(main())
