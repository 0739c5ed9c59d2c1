"""Abbreviations in context: titles, streets, months and days, compass points, states, and the rest."""

import re

from deepvoice.text import numbers as say
from deepvoice.text.dates import month_name
from deepvoice.text.names import STATES
from deepvoice.text.scanner import Scanner
from deepvoice.text.vocabulary import DAYS, DOTTED


def _table(text: str) -> dict[str, str]:
    return {key: spoken.replace("_", " ") for key, _, spoken in (entry.partition("=") for entry in text.split())}


TITLES = _table(
    "mr=mister mrs=missus ms=ms messrs=messers prof=professor gen=general sen=senator rep=representative gov=governor "
    "capt=captain lt=lieutenant col=colonel sgt=sergeant maj=major cmdr=commander adm=admiral rev=reverend "
    "hon=honorable pres=president supt=superintendent insp=inspector det=detective cpl=corporal pvt=private "
    "jr=junior sr=senior esq=esquire drs=doctors profs=professors sens=senators reps=representatives fr=father "
    "mme=madame mlle=mademoiselle cllr=councillor amb=ambassador sec=secretary brig=brigadier sgts=sergeants"
)
STREETS = _table(
    "ave=avenue blvd=boulevard rd=road ln=lane hwy=highway pkwy=parkway pl=place ct=court sq=square ter=terrace "
    "cir=circle rte=route tpke=turnpike apt=apartment ste=suite bldg=building mt=mount ft=fort"
)
PLAIN = _table(
    "inc=incorporated ltd=limited corp=corporation bros=brothers assn=association assoc=association dept=department "
    "univ=university vs=versus etc=et_cetera approx=approximately est=established incl=including excl=excluding "
    "esp=especially tel=telephone ext=extension vol=volume vols=volumes fig=figure figs=figures ch=chapter "
    "chap=chapter pp=pages ed=edition eds=editors cf=compare viz=namely dist=district min=minimum max=maximum "
    "avg=average qty=quantity hr=hour hrs=hours yr=year yrs=years mo=month mos=months wk=week wks=weeks oz=ounces "
    "lb=pounds lbs=pounds co=company cos=companies ca=circa attn=attention asst=assistant govt=government "
    "mfg=manufacturing mfr=manufacturer misc=miscellaneous mgr=manager dir=director bldg=building rm=room fl=floor "
    "wt=weight ht=height intl=international natl=national mtg=meeting appt=appointment temp=temperature ver=version "
    "ref=reference refs=references eq=equation eqs=equations para=paragraph paras=paragraphs app=appendix "
    "trans=translated ms=manuscript inst=institute acad=academy orig=original abbr=abbreviation cont=continued "
    "ibid=ibid op=opus pt=part pts=parts bk=book st=street hosp=hospital int=interior ea=each dz=dozen doz=dozen "
    "sec=section secs=seconds mins=minutes no=number nos=numbers p=page ea=each tbsp=tablespoon tsp=teaspoon "
    "sc=scene lg=large tmrw=tomorrow rt=route pls=please plz=please thx=thanks ctrl=control elev=elevation "
    "pkg=package pc=piece pcs=pieces sched=scheduled "
    "reg=registered gal=gallons qt=quarts pg=page pgs=pages "
    "cert=certificate conf=conference proc=proceedings jour=journal rpt=report supp=supplement corp=corporation "
    "lat=latitude agg=aggregate v=versus b=born d=died c=circa r=reigned mts=mountains is=islands"
)
_STATE_NAMES = _table(
    "ala=alabama ariz=arizona ark=arkansas calif=california colo=colorado conn=connecticut del=delaware fla=florida "
    "ill=illinois ind=indiana kan=kansas mass=massachusetts mich=michigan minn=minnesota miss=mississippi nev=nevada "
    "okla=oklahoma ore=oregon pa=pennsylvania penn=pennsylvania tenn=tennessee tex=texas va=virginia vt=vermont "
    "wash=washington wis=wisconsin"
)
BOOKS = _table(
    "gen=genesis ex=exodus exod=exodus lev=leviticus num=numbers deut=deuteronomy josh=joshua judg=judges sam=samuel "
    "chron=chronicles neh=nehemiah ps=psalm prov=proverbs eccl=ecclesiastes isa=isaiah jer=jeremiah ezek=ezekiel "
    "dan=daniel matt=matthew rom=romans cor=corinthians gal=galatians eph=ephesians phil=philippians col=colossians "
    "thess=thessalonians tim=timothy heb=hebrews jas=james pet=peter rev=revelation"
)
_STATES = "ala ariz ark calif colo conn del fla ga ill ind kan ky la mass md mich minn miss mo mont neb nev"
# After these a full stop ends no sentence when a small letter follows.
ABBREVIATED = frozenset(["deg", *TITLES, *STREETS, *PLAIN, *_STATES.split(), *_STATE_NAMES]) - frozenset(
    "no is app int st".split()
)
# Words in their own right, which end sentences too: an abbreviation only before a digit ...
_BEFORE_DIGIT = frozenset(
    "no nos p pp pt pts fl is b d c r op eq eqs app ch chap sec fig figs vol vols bk ed est para paras rm pg pgs ref "
    "refs ext ver lat agg art sc rt min max temp reg".split()
)
# ... only before a capital or a digit ...
_BEFORE_NAME = frozenset("al col rep gen sen det hon fr amb brig adm v ste mt ft".split())
# ... only in lower case, or before a digit ...
_LOWER = frozenset("min max avg misc temp orig cont".split())
# ... only with a capital.
_CAPITALISED = frozenset("co cos inc ft mt col rep gen sen hon rev det fr pres ct pl ter cir app ms".split())
_SKIPPED = frozenset("ms st is int app trans".split())  # entries of PLAIN that are too often something else
# These need no full stop, when written with a capital.
BARE = frozenset(
    "mr mrs ms jr sr blvd hwy pkwy dept vs etc prof sgt capt ltd lt esq ave rd ln messrs drs rte tpke".split()
)
_BARE_BEFORE_DIGIT = frozenset("rm bldg apt ste rt fig figs vol ch chap pt ext sec hwy rte".split())
_NEVER_STOPPED = frozenset("pls plz thx tmrw ctrl vs etc".split())  # a full stop after these is the sentence's own
_AFTER_STREET = frozenset("ave rd ln pl ct sq ter cir".split())  # bare, only after a name
_COMPASS = {"N": "north", "S": "south", "E": "east", "W": "west", "NE": "northeast", "NW": "northwest"}
_COMPASS |= {"SE": "southeast", "SW": "southwest"}
_STREET_WORDS = "St|Ave|Blvd|Rd|Ln|Dr|Ct|Pl|Sq|Street|Avenue|Boulevard|Road|Lane|Drive|Court|Place|Way|Square"
SLASHED = {"w/o": "without", "w/": "with", "b/c": "because", "c/o": "care of", "a/c": "AC", "n/a": "NA", "i/o": "IO"}
SLASHED |= {"w/in": "within", "r/c": "RC", "tcp/ip": "TCPIP", "km/h": "kilometers per hour", "m/s": "meters per second"}
SLASHED |= {"y/y": "year over year", "q/q": "quarter over quarter", "m/m": "month over month", "s/he": "she or he"}

_ABBREVIATIONS = frozenset(["st", "dr", *TITLES, *STREETS, *PLAIN, *_STATE_NAMES, *BOOKS])

_BEFORE_NUMBER = re.compile(r"\.?\s?(?:\d|(?:[IVXLC]{2,6}|[VX]|[ivxl]{2,6})(?![A-Za-z]))")
_ASKED = re.compile(
    r"\b(?:oh|said|says?|saying|answer(?:ed|s|ing)|repl(?:ied|ies|ying)|shout(?:ed|s)|whisper(?:ed|s)|(?:yes|aye)\s(?:or|and)|"
    r"(?:told|tells?)\s(?:me|you|him|her|us|them))[,:]?\s*[\"'\u201c\u2018]?$",
    re.IGNORECASE,
)
_BEFORE_CAPITAL = re.compile(r"\.?\s+[A-Z]")
_BEFORE_VERSE = re.compile(r"\.?\s\d{1,3}(?::\d|(?=[.,;)]|$))")
_STOP_BEFORE_NAME = re.compile(r"\.\s+[A-Z0-9]")
_AFTER_NAME = re.compile(r"[A-Z0-9][A-Za-z0-9]*\s$")
_AFTER_CAPITAL = re.compile(r"\b[A-Z][a-z]+\s$")
_AFTER_ORDINAL = re.compile(r"\d(?:st|nd|rd|th)\s$")
_MONTH_DAY = re.compile(
    r"\.?\s+(\d{1,2})(?:st|nd|rd|th|ST|ND|RD|TH)?(?![\d:/]|,\d{3}|\.\d|\s?[ap]\.?m)(?:\s?[-–]\s?(\d{1,2})(?:st|nd|rd|th|ST|ND|RD|TH)?(?![\d:/-]))?"
)
_BEFORE_YEAR = re.compile(r"\.?,?\s\d{4}(?!\d)")
_TO_NEXT = re.compile(r"\.?(\s?[-–]\s?)([A-Z][a-z]{2,8})(?![A-Za-z])")
_DAY_BEFORE_DATE = re.compile(r"\.?,?\s+(?:\d|[A-Z][a-z]{2,8}\.?\s\d)")
_ON_STREET = re.compile(rf"\.?\s(?:[A-Z][a-z]+\s|\d+(?:st|nd|rd|th)\s){{1,3}}(?:{_STREET_WORDS})\b")
_AFTER_STREET_WORD = re.compile(rf"(?:{_STREET_WORDS})\.?,?\s$")
_WINDS = frozenset("wind winds facing heading headed bearing due kilometers miles blowing".split())
_DIRECTED = re.compile(r"\s(?:winds?|corner|quadrant|side|coast|breeze|quarter|slope|suburbs?|of\s(?!\d))\b")
_STATE = re.compile(r"[A-Z][a-z]+,?\s$")
_AFTER_STATE = re.compile(r"(?=[.,;:!?)\"']|$|\s(?:is|was|has|and|on|in|to|for|at|where)\b|\s\d{5}(?!\d))")


def read_slashed(scanner: Scanner, word: str, end: int) -> bool:
    """Read "w/o", "c/o", "TCP/IP"."""
    text = scanner.text
    if text[end : end + 1] != "/" or not scanner.options.reads("abbreviation"):
        return False
    match = re.compile(r"/[A-Za-z]*").match(text, end)
    if not match or re.compile(r"[/_]|\.\w").match(text, match.end()):
        return False
    spoken = SLASHED.get(word.lower() + match.group().lower())
    if spoken is None or (scanner.before not in ("", " ", "(") and spoken != "TCPIP"):
        return False
    scanner.say(spoken, match.end())
    return True


def read_abbreviation(scanner: Scanner, word: str, end: int) -> bool:
    """Read the abbreviation at the position; False when the word is none here."""
    key, text = word.lower(), scanner.text
    if key not in _ABBREVIATIONS and (len(word) > 2 or not word.isupper()):
        return False
    if is_answer(word, text[max(0, scanner.position - 24) : scanner.position]):
        return False
    dot = text[end : end + 1] == "."
    reads = scanner.options.reads
    if len(word) <= 2 and word.isupper() and _read_place(scanner, word, end, dot):
        return True
    if key in ("st", "dr") and word[0].isupper() and len(word) == 2:
        if word == "DR" and not dot and not scanner.shouted:
            return False  # "TL;DR"
        return reads("title") and _read_saint_or_street(scanner, word, end, dot)
    if (
        capital_stop(word, dot)
        and key in _STATE_NAMES
        and reads("street")
        and _STATE.search(text[: scanner.position][-24:])
    ):
        scanner.say(_STATE_NAMES[key], end + (dot and end + 1 < len(text)))
        return True
    if key in BOOKS and _BEFORE_VERSE.match(text, end) and word[0].isupper():
        scanner.say(BOOKS[key], end + dot)
        return True
    for kind, table in (("title", TITLES), ("street", STREETS), ("abbreviation", PLAIN)):
        if key in table and reads(kind) and _abbreviates(scanner, word, end, dot, kind):
            scanner.say(_in_place(scanner, key, end) or table[key], end + dot)
            return True
    return False


def _abbreviates_here(scanner: Scanner, key: str, capital: bool, end: int) -> bool:
    """Tell whether "Roe v. Wade", "Pt. Reyes", "Eq. (2)" and "$1.19 est." abbreviate, though no number follows."""
    if key == "v":
        return not capital and _BEFORE_CAPITAL.match(scanner.text, end) is not None and bool(scanner.words)
    if key == "pt":
        return capital and _STOP_BEFORE_NAME.match(scanner.text, end) is not None
    if key == "est":
        return scanner.number_end in (scanner.position, scanner.position - 1)
    return scanner.text.startswith(" (", end + 1)


def _in_place(scanner: Scanner, key: str, end: int) -> str:
    """Return what an abbreviation of two readings stands for here, "" for the one of its table."""
    if key == "est" and not _BEFORE_YEAR.match(scanner.text, end):
        return "estimated"
    return "point" if key == "pt" and not _BEFORE_NUMBER.match(scanner.text, end) else ""


def is_answer(word: str, before: str) -> bool:
    """Tell whether "no." is the answer of "I said no. 5 people left.", which number 5 is not."""
    return word == "no" and _ASKED.search(before) is not None


def capital_stop(word: str, dot: bool) -> bool:
    """Tell whether a word begins with a capital and has a full stop behind it."""
    return dot and word[0].isupper()


def _abbreviates(scanner: Scanner, word: str, end: int, dot: bool, kind: str) -> bool:
    """Tell whether a word of a table is an abbreviation here."""
    key, capital, text = word.lower(), word[0].isupper(), scanner.text
    if (word.isupper() and len(word) > 1 and not scanner.shouted) or (kind == "abbreviation" and key in _SKIPPED):
        return key in ("no",) and dot and _BEFORE_NUMBER.match(text, end) is not None
    if not dot and key in _BARE_BEFORE_DIGIT and capital and re.compile(r"\s\d").match(text, end):
        return True
    if key in ("fl", "ed") and _AFTER_ORDINAL.search(text, max(0, scanner.position - 5), scanner.position):
        return dot or capital
    if key == "etc" and text[end : end + 1] in ("/", "-"):
        return False
    if not dot:
        if kind == "street" and key in _AFTER_STREET:
            return capital and _AFTER_CAPITAL.search(text, max(0, scanner.position - 24), scanner.position) is not None
        return key in _NEVER_STOPPED or (key in BARE and capital)
    before_number = _BEFORE_NUMBER.match(text, end) is not None
    if key == "v" or (key in ("pt", "eq", "eqs", "est") and not before_number):
        return _abbreviates_here(scanner, key, capital, end)
    if kind == "title" and key == "sec":
        return capital and _STOP_BEFORE_NAME.match(text, end) is not None and not before_number
    if key in _CAPITALISED and not capital:
        return False
    if key in _LOWER:
        return before_number or not capital
    if key in _BEFORE_DIGIT:
        return before_number and not (key in ("b", "d", "c", "r") and capital)
    return key not in _BEFORE_NAME or _STOP_BEFORE_NAME.match(text, end) is not None


def _read_saint_or_street(scanner: Scanner, word: str, end: int, dot: bool) -> bool:
    """Read St. and Dr.: the saint and the doctor stand before a name, the street and the drive after one."""
    text = scanner.text
    before_name = _BEFORE_CAPITAL.match(text, end) is not None
    after_name = _AFTER_NAME.search(text[max(0, scanner.position - 30) : scanner.position]) is not None
    if word.lower() == "st":
        direction = re.compile(r"\.?,?\s(?:[NS][EW]|[NSEW])\b").match(text, end)
        ends_name = after_name and (text[end + dot : end + dot + 1] in ("", ",", ".", ";") or direction)
        spoken = "saint" if before_name and not ends_name else "street"
    else:
        spoken = "doctor" if before_name or not after_name else "drive"
    scanner.say(spoken, end + dot)
    return True


def _read_place(scanner: Scanner, word: str, end: int, dot: bool) -> bool:
    """Read compass points in street names ("100 N. Main St.", "Pennsylvania Ave NW") and states ("Austin, TX")."""
    text, position = scanner.text, scanner.position
    if not scanner.options.reads("street") or not position:
        return False
    recent = text[max(0, position - 24) : position]
    if len(word) == 2 and word in _COMPASS and _points(scanner, end):
        scanner.say(_COMPASS[word], end)
        return True
    if word in _COMPASS:
        after_street = _AFTER_STREET_WORD.search(recent) is not None
        numbered = recent[-2:-1].isdigit() and _ON_STREET.match(text, end) is not None
        if after_street or numbered:
            scanner.say(_COMPASS[word], end + (dot and end + 1 < len(text)))
            return True
    if word in STATES and recent.endswith(", ") and _STATE.search(recent) and _ends_place(word, text, end):
        scanner.say(STATES[word], end)
        zip_code = re.compile(r"\s(\d{5})(?:-(\d{4}))?(?!\d)").match(text, end)
        if zip_code:
            scanner.position += 1
            extra = f" , {say.spell_digits(zip_code[2])}" if zip_code[2] else ""
            scanner.say(say.spell_digits(zip_code[1]) + extra, zip_code.end())
        return True
    return False


def _points(scanner: Scanner, end: int) -> bool:
    """Tell whether two letters such as NW are a direction, by the words beside them."""
    cued = bool(scanner.words) and scanner.words[-1] in _WINDS
    return cued or _DIRECTED.match(scanner.text, end) is not None


def _ends_place(word: str, text: str, end: int) -> bool:
    """Tell whether two capitals after a name and a comma are a state; "OK" and "IN" are words before small letters."""
    if _AFTER_STATE.match(text, end):
        return True
    return word not in ("OK", "IN", "OR", "ME", "HI", "OH", "PA", "MA", "ID") and text[end + 1 : end + 2].islower()


def read_dotted(token: str) -> str | None:
    """Return how "a.m.", "e.g." and the like are said, None for letters that are spelled."""
    return DOTTED.get(token.lower() if token.endswith(".") else token.lower() + ".")


# --- months and days ------------------------------------------------------------------------------------------------


def read_month(scanner: Scanner, word: str, end: int) -> bool:
    """Read a month before a day, and the abbreviation of a month or a day of the week."""
    if not word[0].isupper() or not scanner.options.reads("date"):
        return False
    lower = word.lower()
    name = month_name(lower)
    day = _MONTH_DAY.match(scanner.text, end) if name else None
    if day and 1 <= int(day[1]) <= 31:
        spoken = f"{name} {say.ordinal(day[1])}"
        stop = day.end(2)
        if day[2] and int(day[1]) < int(day[2]) <= 31:
            spoken += f" to {say.ordinal(day[2])}"
            stop = _end_of_day(scanner.text, stop)
        else:
            stop = _end_of_day(scanner.text, day.end(1))
        scanner.say(spoken, stop)
        scanner.after_date = True
        return True
    return _read_span(scanner, word, end, name or DAYS.get(lower, ""), bool(name))


def _end_of_day(text: str, end: int) -> int:
    """Return the end of a day of the month with the ending of an ordinal."""
    return end + 2 if text[end : end + 2].lower() in ("st", "nd", "rd", "th") else end


def _read_span(scanner: Scanner, word: str, end: int, name: str, is_month: bool) -> bool:
    """Read "Mon-Fri", "Jan-Mar 2020", "Tue, 5 March" and "Feb. 2020"."""
    if not name:
        return False
    text = scanner.text
    span = _TO_NEXT.match(text, end)
    if span:
        other = month_name(span[2]) if is_month else DAYS.get(span[2].lower(), "")
        if other:
            scanner.say(f"{name} to", span.end(1), changed=True)
            return True
    dot = text[end : end + 1] == "."
    if name == word.lower():
        return False
    if is_month:
        full = (dot and len(text) > end + 1) or _BEFORE_YEAR.match(text, end) or scanner.words[-1:] == ["to"]
    else:
        short = word.lower() in ("sat", "sun")  # words in their own right
        dated = _DAY_BEFORE_DATE.match(text, end)
        spans = scanner.words[-1:] == ["to"] and scanner.words[-2:-1] and scanner.words[-2].endswith("day")
        full = (
            dated
            or spans
            or (dot and (not short or text[end + 1 : end + 2] == "/" or _STOP_BEFORE_NAME.match(text, end) is not None))
        )
    if not full:
        return False
    scanner.say(name, end + dot)
    return True
