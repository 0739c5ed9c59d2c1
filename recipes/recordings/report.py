"""The report of `prepare`: one HTML page with its plots inside it. It asks for nothing from anywhere."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from deepvoice.recipes.recordings.charts import histogram, scatter, waveform
from deepvoice.recipes.recordings.examine import Examined

if TYPE_CHECKING:
    from deepvoice.recipes.recordings.prepare import Prepared

_MOST_ROWS = 500  # of a table in the page; the files have all
_MOST_WAVES = 60
_STYLE = """
:root { color-scheme: light dark; --line: #8886; --ink: #1f5fa8; --bad: #b3362b; --soft: #8882; }
@media (prefers-color-scheme: dark) { :root { --ink: #74aef0; --bad: #f08a7e; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 68rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
.figures { display: flex; flex-wrap: wrap; gap: .8rem 2.4rem; padding: 0; list-style: none; }
.figures b { display: block; font-size: 1.7rem; font-variant-numeric: tabular-nums; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); gap: 1.2rem; }
figure { margin: 0; } figcaption { font-size: .9rem; }
svg { width: 100%; height: auto; } svg text { font: 11px system-ui, sans-serif; fill: currentColor; }
.bar, .dot { fill: var(--ink); } .wave { stroke: var(--ink); fill: none; } .axis { stroke: var(--line); }
.limit { stroke: var(--bad); stroke-dasharray: 4 3; } .bad { color: var(--bad); } circle.bad { fill: var(--bad); }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; border-bottom: 1px solid var(--line); }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
td.wave svg { width: 12rem; height: 2rem; } code { overflow-wrap: anywhere; }
"""


def write_report(prepared: "Prepared") -> str:
    """Return the page."""
    title = f"Recordings of {prepared.folder.resolve().name}"
    body = "\n".join(_sections(prepared, title))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _sections(prepared: "Prepared", title: str) -> Iterator[str]:
    yield f"<h1>{escape(title)}</h1>"
    yield _figures(prepared)
    remarks = "".join(f"<li>{escape(remark)}</li>" for remark in prepared.remarks)
    yield f"<ul>{remarks}</ul>" if remarks else ""
    yield '<h2>What they sound like</h2>\n<div class="plots">'
    yield from _plots(prepared)
    yield "</div>"
    yield _counts("Why recordings are not used", [f.reasons for f in prepared.examined], "all can be used")
    yield _refused(prepared)
    yield _counts("What was noticed about those that are used", [f.notes for f in prepared.kept], "nothing")
    yield _quietest(prepared)


def _figures(prepared: "Prepared") -> str:
    refused = len(prepared.all_refused())
    minutes = prepared.seconds / 60
    found = len(prepared.examined)
    figures = (
        (f"{len(prepared.kept)}", f"of {found} recordings are used"),
        (f"{minutes:.1f} min", "of speech in the corpus"),
        (f"{refused}", "files or lines are not used"),
        (escape(prepared.layout), "is how the folder is laid out"),
    )
    return '<ul class="figures">' + "".join(f"<li><b>{value}</b> {what}</li>" for value, what in figures) + "</ul>"


def _plots(prepared: "Prepared") -> Iterator[str]:
    measured = [found for found in prepared.examined if found.measures]
    limits = prepared.limits

    def values(name: str) -> list[float]:
        return [float(found.measures[name]) for found in measured if found.measures]

    yield histogram(values("seconds"), "seconds", "Length of the recordings", [limits.shortest, limits.longest])
    ranges = [found.measures["loud"] - found.measures["quiet"] for found in measured if found.measures]
    yield histogram(ranges, "dB", "How far speech stands out of the noise in its pauses", [limits.range])
    yield histogram(values("loud"), "dB of full scale", "Level of the loud parts", [])
    yield histogram([p * 100 for p in values("peak")], "% of full scale", "Largest sample", [])
    paces = [
        (len(f.row["phones"].split()), f.measures["speech"], bool(f.reasons)) for f in measured if f.row and f.measures
    ]
    yield scatter(paces, "phones in the text", "seconds of sound", "Text and sound: what lies far off may not match")
    heard = [found.confidence for found in measured if found.confidence is not None]
    if heard:
        yield histogram(heard, "", "How sure the aligner is that the text is what is said", [])


def _counts(title: str, lists: Iterable[Sequence[str]], nothing: str) -> str:
    """Return a table of how often each kind of remark was made."""
    kinds = Counter(kind for remarks in lists for kind in {_kind(remark) for remark in remarks})
    if not kinds:
        return f"<h2>{title}</h2><p>{nothing}</p>"
    rows = "".join(
        f'<tr><td class="number">{count}</td><td>{escape(kind)}</td></tr>' for kind, count in kinds.most_common()
    )
    return f'<h2>{title}</h2><div class="scroll"><table>{rows}</table></div>'


def _kind(remark: str) -> str:
    """Return what a remark has in common with others of its kind."""
    head = remark.split(":")[0].split(";")[0]
    words = [word for word in head.split() if not any(c.isdigit() for c in word)]
    return " ".join(words)[:80]


def _refused(prepared: "Prepared") -> str:
    """Return the table of everything that is not used."""
    waves = [found for found in prepared.examined if found.reasons]
    rows = [
        (found.source, found.text, "; ".join(found.reasons), _wave(found) if number < _MOST_WAVES else "")
        for number, found in enumerate(waves)
    ]
    rows += [(place, "", reason, "") for place, reason in prepared.refused]
    if not rows:
        return ""
    more = f"<p>{len(rows) - _MOST_ROWS} more are in refused.tsv.</p>" if len(rows) > _MOST_ROWS else ""
    return (
        '<div class="scroll"><table><tr><th>file or line</th><th>text</th><th>why it is not used</th><th></th></tr>'
        + "".join(
            f'<tr><td><code>{escape(place)}</code></td><td>{escape(text[:300])}</td><td class="bad">{escape(why)}</td>'
            f'<td class="wave">{wave}</td></tr>'
            for place, text, why, wave in rows[:_MOST_ROWS]
        )
        + f"</table></div>{more}"
    )


def _wave(found: Examined) -> str:
    return waveform(found.waveform) if found.waveform else ""


def _quietest(prepared: "Prepared") -> str:
    """Return the recordings in use that are most worth listening to: the noisiest, or the least sure."""

    def worth(found: Examined) -> float:
        sure = 1.0 if found.confidence is None else found.confidence
        measures = found.measures or {"loud": 0.0, "quiet": 0.0}
        return sure + min(40.0, measures["loud"] - measures["quiet"]) / 40.0

    return _listed("Worth listening to before training", sorted(prepared.kept, key=worth)[:20], worth)


def _listed(title: str, chosen: Sequence[Examined], worth: Callable[[Examined], float]) -> str:
    if not chosen:
        return ""
    rows = "".join(
        f"<tr><td><code>{escape(found.source)}</code></td><td>{escape(found.text[:300])}</td>"
        f'<td>{escape("; ".join(found.notes))}</td><td class="wave">{_wave(found)}</td></tr>'
        for found in chosen
    )
    head = "<tr><th>file</th><th>text</th><th>noticed</th><th></th></tr>"
    return f'<h2>{title}</h2><div class="scroll"><table>{head}{rows}</table></div>'
