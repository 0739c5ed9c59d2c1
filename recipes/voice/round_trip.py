"""The round trip of the front end: text full of numbers, names and abbreviations, spoken and heard again.

    python -m deepvoice.recipes.voice.round_trip OUT_DIR [--voice NAME_OR_FOLDER] [--no-teacher]

`round_trip.tsv` beside this file has 200 sentences as they are written and, beside each, the words that they are read
as. The voice speaks the written ones into OUT_DIR/ours, the teacher the words into OUT_DIR/teacher; OUT_DIR/words.txt
is what a recogniser should hear in either. The command also prints where the front end's words differ from the file's.
"""

import argparse
from pathlib import Path

import soundfile

import deepvoice
from deepvoice.recipes.common.progress import progress


def read_sentences(path: Path | None = None) -> list[tuple[str, str]]:
    """Return the sentences as written and as words."""
    lines = (path or Path(__file__).with_name("round_trip.tsv")).read_text(encoding="utf-8").splitlines()
    return [(written, words) for written, _, words in (line.partition("\t") for line in lines)]


def words_of(voice: deepvoice.Voice, written: str) -> str:
    """Return the words that the front end makes of a sentence, hyphens as spaces."""
    found = voice.phonemes(written)
    return " ".join(word.text for sentence in found for word in sentence.words).replace("-", " ")


def speak_teacher(sentences: list[tuple[str, str]], out: Path) -> None:
    """Have the teacher read the words."""
    from hibari import Hibari

    teacher = Hibari()
    out.mkdir(parents=True, exist_ok=True)
    for number, (_, words) in enumerate(progress(sentences, "teacher")):
        text = f"{words[0].upper()}{words[1:]}."
        soundfile.write(out / f"{number:03d}.wav", teacher(text, seed=number), 24000, subtype="PCM_16")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--voice")
    parser.add_argument("--no-teacher", action="store_true", help="speak with the voice alone")
    arguments = parser.parse_args()
    sentences = read_sentences()
    voice = deepvoice.load(arguments.voice)
    wrong = [(written, said, words) for written, words in sentences if (said := words_of(voice, written)) != words]
    for written, said, words in wrong:
        print(f"{written} | {said} | {words}")
    print(f"{len(sentences) - len(wrong)} of {len(sentences)} sentences have the words of the file")
    (arguments.out / "ours").mkdir(parents=True, exist_ok=True)
    for number, (written, _) in enumerate(progress(sentences, "speaking")):
        voice.speak(written).save(arguments.out / "ours" / f"{number:03d}.wav")
    if not arguments.no_teacher:
        speak_teacher(sentences, arguments.out / "teacher")
    (arguments.out / "words.txt").write_text("".join(words + "\n" for _, words in sentences), encoding="utf-8")


if __name__ == "__main__":
    main()
