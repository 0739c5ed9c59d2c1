"""`deepvoice voices`: the voices of this installation."""

import argparse
import json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--json", action="store_true", help="print language, sample rate, licence, provenance and scores as JSON"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the list; returns the exit status."""
    from deepvoice.errors import VoiceError
    from deepvoice.voice import DEFAULT_VOICE, VOICES, read_manifest, voice_names

    names = voice_names()
    if not names:
        raise VoiceError(f"there are no voices in {VOICES}; reinstall deepvoice")
    manifests = [read_manifest(name) for name in names]
    if arguments.json:
        table = [
            {
                "name": manifest.name,
                "default": manifest.name == DEFAULT_VOICE,
                "language": manifest.language,
                "sample_rate": manifest.sample_rate,
                "licence": manifest.licence,
                "provenance": manifest.provenance,
                "scores": dict(manifest.scores),
            }
            for manifest in manifests
        ]
        print(json.dumps(table, indent=1))
        return 0
    for manifest in manifests:
        default = " (default)" if manifest.name == DEFAULT_VOICE else ""
        print(f"{manifest.name}{default}: {manifest.language}, {manifest.sample_rate} Hz, {manifest.licence}")
    return 0
