"""Tune a voice to a small corpus of another speaker: 10 to 30 minutes of recordings become a voice in an hour or two.

    deepvoice prepare RECORDINGS -o corpus
    python -m deepvoice.recipes.voice.finetune corpus/manifest.jsonl --from heart --out runs/mine
    deepvoice say "Hello." --voice runs/mine/voice -o hello.wav

Every module begins from the weights of the voice. Stages that are done leave a marker in DIR/done; stop at any time
and run the same command again. DIR/voice is the result, DIR/figures.json what was measured before and after, DIR/*.png
are pictures.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from deepvoice.config import load_toml
from deepvoice.errors import ConfigError
from deepvoice.recipes.common.command import reported
from deepvoice.recipes.voice import tuned_modules, tuned_voice
from deepvoice.recipes.voice.stages import run_stages
from deepvoice.recipes.voice.tuning import Places, Tuning
from deepvoice.recipes.voice.unpack import read

MANIFEST = "manifest.jsonl"
Stage = Callable[[Places, Tuning], None]

STAGES: dict[str, Stage] = {
    "start": tuned_voice.begin,
    "features": tuned_modules.features,
    "segmentation": tuned_modules.segmentation,
    "align": tuned_modules.align,
    "duration": tuned_modules.duration,
    "f0": tuned_modules.f0,
    "conditioner": tuned_modules.conditioner,
    "vocoder": tuned_modules.vocoder,
    "pack": tuned_voice.pack_voice,
    "figures": tuned_voice.figures,
}


def finetune(
    places: Places, tuning: Tuning | None = None, first: str | None = None, last: str | None = None
) -> list[str]:
    """Tune a voice and return the stages that were done now.

    Raises ConfigError when the corpus is too small or another corpus lies in the folder already, VoiceError for a voice
    that is damaged.
    """
    check(places)
    stages = {name: partial(stage, places, tuning or Tuning()) for name, stage in STAGES.items()}
    return run_stages(stages, places.work / "done", first, last)


def check(places: Places) -> None:
    """Refuse a corpus that cannot be trained on, and a folder that holds the tuning of another one."""
    if not places.manifest.is_file():
        folder = places.manifest.parent
        source = folder if places.manifest.name == MANIFEST and folder.is_dir() else "RECORDINGS"
        raise ConfigError(f"{places.manifest} is missing; make it with: deepvoice prepare {source} -o CORPUS")
    tuned_voice.usable_rows(places.manifest)
    given = {"manifest": str(places.manifest.resolve()), "from": places.voice}
    record = places.work / "tuning.json"
    if record.is_file():
        found = json.loads(record.read_text(encoding="utf-8"))
        if found != given:
            raise ConfigError(f"{places.work} holds the tuning of {found}, this is {given}; choose another --out")
        return
    read(places.voice)  # nothing is recorded of a voice that is none
    places.work.mkdir(parents=True, exist_ok=True)
    record.write_text(json.dumps(given) + "\n", encoding="utf-8")


def main(argv: Sequence[str] | None = None) -> int:
    """Command line."""
    import torch

    from deepvoice.recipes.common.launch import flushed_denormals

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifest", type=Path, help="what `deepvoice prepare` wrote: the folder, or its manifest.jsonl")
    parser.add_argument("--from", dest="voice", default="heart", metavar="VOICE", help="voice to begin from")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for everything that is made")
    parser.add_argument("--name", default="mine", help="of the voice: lower-case letters, digits, - and _")
    parser.add_argument("--config", type=Path, metavar="FILE", help="TOML of Tuning (recipes/voice/tuning.py)")
    parser.add_argument("--again", choices=list(STAGES), help="do this stage and all after it again")
    parser.add_argument("--to", dest="last", choices=list(STAGES), help="end after this stage")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    arguments = parser.parse_args(argv)
    torch.set_num_threads(arguments.threads)
    manifest = arguments.manifest / MANIFEST if arguments.manifest.is_dir() else arguments.manifest
    places = Places(manifest=manifest, voice=arguments.voice, work=arguments.out, name=arguments.name)

    def work() -> int:
        tuning = load_toml(Tuning, arguments.config) if arguments.config else Tuning()
        with flushed_denormals():
            finetune(places, tuning, arguments.again, arguments.last)
        print(f'{places.out} speaks: deepvoice say "Hello." --voice {places.out} -o hello.wav')
        return 0

    try:
        return reported(work)
    except KeyboardInterrupt:
        print("stopped; the same command goes on from here")
        return 130


if __name__ == "__main__":
    raise SystemExit(main())
