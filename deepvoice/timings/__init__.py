"""When what is heard: sentences, words, phones, mouth shapes and marks, as JSON, subtitles, lyrics or a TextGrid.

    write("talk.srt", voice.speak("..."))

All times are counted in samples; a format that counts in milliseconds rounds each edge once, so that nothing adds up.
"""

from deepvoice.timings.files import FORMATS, format_of, render, write
from deepvoice.timings.timeline import Timed, Timeline
from deepvoice.timings.visemes import VISEMES, Viseme, visemes

__all__ = ["FORMATS", "VISEMES", "Timed", "Timeline", "Viseme", "format_of", "render", "visemes", "write"]
