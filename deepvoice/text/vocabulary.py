"""The normaliser's tables: abbreviations, units, currencies, months, initialisms.

Spoken forms are lower-case words; a piece in capitals ("PM") is spelled letter by letter.
"""

# --- abbreviations -------------------------------------------------------------------------------------------------

# Written with a full stop; the expansion applies with the stop, and without it where the word is in BARE below.
ABBREVIATIONS = {
    "mr": "mister", "mrs": "missus", "ms": "ms", "messrs": "messers", "prof": "professor", "gen": "general",
    "sen": "senator", "rep": "representative", "gov": "governor", "capt": "captain", "lt": "lieutenant",
    "col": "colonel", "sgt": "sergeant", "maj": "major", "cmdr": "commander", "adm": "admiral", "rev": "reverend",
    "hon": "honorable", "pres": "president", "supt": "superintendent", "jr": "junior", "sr": "senior",
    "esq": "esquire", "inc": "incorporated", "ltd": "limited", "corp": "corporation", "bros": "brothers",
    "assn": "association", "dept": "department", "univ": "university", "vs": "versus", "etc": "et cetera",
    "approx": "approximately", "est": "established", "incl": "including", "esp": "especially", "ave": "avenue",
    "blvd": "boulevard", "rd": "road", "ln": "lane", "hwy": "highway", "pkwy": "parkway", "sq": "square",
    "apt": "apartment", "tel": "telephone", "ext": "extension", "ft": "fort", "mt": "mount", "vol": "volume",
    "vols": "volumes", "fig": "figure", "figs": "figures", "ch": "chapter", "chap": "chapter", "sec": "section",
    "pp": "pages", "ed": "edition", "eds": "editors", "al": "al", "cf": "compare", "viz": "namely", "dist": "district",
    "min": "minutes", "max": "maximum", "hr": "hour", "hrs": "hours", "yr": "year", "yrs": "years", "oz": "ounces",
    "lb": "pounds", "lbs": "pounds", "mon": "monday", "tue": "tuesday", "tues": "tuesday", "wed": "wednesday",
    "thu": "thursday", "thur": "thursday", "thurs": "thursday", "fri": "friday", "sat": "saturday", "sun": "sunday",
    "co": "company", "insp": "inspector", "det": "detective", "cpl": "corporal", "pvt": "private", "ca": "circa",
}  # fmt: skip
# "sat." and "sun." and the like end sentences as ordinary words too: these expand only before a capital or a digit.
ABBREVIATIONS_THAT_ARE_WORDS = frozenset("sat sun mon wed fri ed al col rep gen min max sec sen det fig ch est".split())
ABBREVIATIONS_CAPITALISED = frozenset(
    "co inc ft mt col rep gen sen hon rev est det min max sat sun mon wed fri".split()
)
# These need no full stop, when written with a capital.
BARE_ABBREVIATIONS = frozenset("mr mrs jr sr blvd hwy pkwy dept vs etc prof sgt capt ltd lt esq".split())
DOTTED = {
    "a.m.": "AM", "p.m.": "PM", "e.g.": "for example", "i.e.": "that is", "ph.d.": "PHD", "b.c.": "BC", "a.d.": "AD",
    "b.c.e.": "BCE", "c.e.": "CE", "p.s.": "PS", "o.k.": "okay", "a.k.a.": "also known as", "n.b.": "NB",
}  # fmt: skip
MONTHS = "january february march april may june july august september october november december".split()
MONTH_ABBREVIATIONS = {m[:3]: m for m in MONTHS} | {"sept": "september"}

# For the sentence splitter. Never at the end of a sentence:
ABBREVIATIONS_INSIDE = frozenset(
    "mr mrs ms messrs prof gen sen rep gov capt lt col sgt maj cmdr adm rev hon pres supt insp det cpl pvt e.g i.e "
    "approx incl esp cf viz vs ca bros univ assn".split()
) - {"rep", "det"}  # fmt: skip
# Not at the end of a sentence when a number follows:
ABBREVIATIONS_BEFORE_NUMBERS = frozenset(
    [
        "no",
        "nos",
        "vol",
        "vols",
        "fig",
        "figs",
        "ch",
        "chap",
        "sec",
        "p",
        "pp",
        "art",
        "ed",
        "est",
        *MONTH_ABBREVIATIONS,
    ]
)
# Either: "name" ends only before a word that often starts sentences, "time" before any capital.
ABBREVIATIONS_OPEN = {
    **dict.fromkeys(
        "inc ltd co corp jr sr dept mon tue tues wed thu thur thurs fri u.s u.k u.n rep det".split(), "name"
    ),
    **dict.fromkeys([m for m in MONTH_ABBREVIATIONS if m != "may"], "name"),
    **dict.fromkeys(
        "etc a.m p.m ave blvd rd hwy esq ph.d m.d b.c a.d al apt hr hrs min oz lb lbs yr yrs".split(), "time"
    ),
}
SENTENCE_STARTERS = frozenset(
    "the a an this that these those he she it we they i you in on at for but and so if when while after before as his "
    "her their our my there here what who why how where yes no not however then also its it's he's she's i'm we're "
    "they're all some many most one two three both each every now today yesterday tomorrow later since although "
    "though because with from by to into during until once please thank let do does did is are was were can could "
    "will would should may might meanwhile instead therefore thus still yet perhaps maybe never even only".split()
)

# --- symbols --------------------------------------------------------------------------------------------------------

SYMBOLS = {
    "&": "and", "@": "at", "+": "plus", "%": "percent", "=": "equals", "×": "times", "÷": "divided by",
    "±": "plus or minus", "≈": "approximately", "≤": "less than or equal to", "≥": "greater than or equal to",
    "≠": "not equal to", "<": "less than", ">": "greater than", "√": "square root of", "∞": "infinity", "°": "degrees",
    "§": "section", "²": "squared", "³": "cubed", "‰": "per mille", "$": "dollars", "£": "pounds", "€": "euros",
    "¥": "yen", "₹": "rupees", "¢": "cents", "Ω": "ohms",
}  # fmt: skip

# --- numbers in context ---------------------------------------------------------------------------------------------

CODE_WORDS = frozenset(
    "code codes pin passcode password otp account zip extension serial tracking confirmation reference".split()
)
ROOM_WORDS = frozenset("flight room route highway bus channel apartment suite gate interstate boeing unit".split())
YEAR_WORDS = frozenset(
    "in since until till during year years circa spring summer autumn fall winter christmas easter early mid late "
    "date pre post".split()
) | frozenset(MONTHS)
# Before 1900 to 2099 these announce a year even when a plural follows ("by 2020 sales were up").
YEAR_PREPOSITIONS = frozenset("in by before after from since until to of".split())
QUANTITY_WORDS = frozenset(
    "over under nearly almost roughly approximately than only another exactly least most paid sold bought weighs "
    "costs contains holds counted some maximum minimum total".split()
)
PLURALS_WITHOUT_S = frozenset(
    "people men women children feet fish sheep cattle police percent more dozen of mice".split()
)
NOT_PLURALS = frozenset(
    "was is has as his its this thus us does always perhaps towards across besides afterwards plus versus less unless "
    "ours yours theirs hers whereas sometimes nevertheless nonetheless regardless".split()
)

# --- currencies and units -------------------------------------------------------------------------------------------

CURRENCIES = {  # one, many, one hundredth, hundredths
    "$": ("dollar", "dollars", "cent", "cents"), "£": ("pound", "pounds", "penny", "pence"),
    "€": ("euro", "euros", "cent", "cents"), "¥": ("yen", "yen", "sen", "sen"),
    "₹": ("rupee", "rupees", "paisa", "paise"), "¢": ("cent", "cents", "", ""),
}  # fmt: skip
CURRENCY_PREFIXES = {
    "us": "US", "u.s.": "US", "ca": "canadian", "c": "canadian", "a": "australian", "au": "australian",
    "nz": "new zealand", "hk": "hong kong",
}  # fmt: skip
MAGNITUDES = {
    "k": "thousand", "m": "million", "mn": "million", "mm": "million", "b": "billion", "bn": "billion", "t": "trillion",
    "tn": "trillion", "hundred": "hundred", "thousand": "thousand", "million": "million", "billion": "billion",
    "trillion": "trillion", "quadrillion": "quadrillion",
}  # fmt: skip

_UNITS = """
km kilometer|m meter|cm centimeter|mm millimeter|nm nanometer|µm micrometer|mi mile|ft foot feet|yd yard|yds yard
in inch inches|kg kilogram|g gram|mg milligram|µg microgram|mcg microgram|lb pound|lbs pound|oz ounce|kgs kilogram
l liter|L liter|ml milliliter|mL milliliter|cl centiliter|dl deciliter|dL deciliter|gal gallon|ha hectare
s second|sec second|secs second|ms millisecond|µs microsecond|ns nanosecond|min minute|mins minute|h hour|hr hour
hrs hour|yr year|yrs year|Hz hertz hertz|kHz kilohertz kilohertz|MHz megahertz megahertz|GHz gigahertz gigahertz
THz terahertz terahertz|W watt|kW kilowatt|MW megawatt|GW gigawatt|Wh watt_hour|kWh kilowatt_hour|MWh megawatt_hour
GWh gigawatt_hour|V volt|kV kilovolt|mV millivolt|mA milliamp|mAh milliamp_hour|Ω ohm|kΩ kilo_ohm|dB decibel
J joule|kJ kilojoule|cal calorie|kcal kilocalorie|Pa pascal|hPa hectopascal|kPa kilopascal|psi PSI PSI
B byte|KB kilobyte|kB kilobyte|MB megabyte|GB gigabyte|TB terabyte|PB petabyte|Mb megabit|Gb gigabit
bps bit_per_second bits_per_second|kbps kilobit_per_second kilobits_per_second|mph mile_per_hour miles_per_hour
Mbps megabit_per_second megabits_per_second|Gbps gigabit_per_second gigabits_per_second
mpg mile_per_gallon miles_per_gallon|rpm RPM RPM|kph kilometer_per_hour kilometers_per_hour|kmh kilometer_per_hour
tsp teaspoon|tbsp tablespoon
fps frame_per_second frames_per_second|px pixel|pt point|pts point|hp horsepower horsepower|ppm part_per_million
°C degree_celsius degrees_celsius|°F degree_fahrenheit degrees_fahrenheit|°K degree_kelvin degrees_kelvin
° degree|USD US_dollar US_dollars|EUR euro|GBP pound|JPY yen yen|CAD canadian_dollar canadian_dollars|€ euro|£ pound
¢ cent|$ dollar|¥ yen yen|sqft square_foot square_feet|cc CC CC|mmHg millimeter_of_mercury millimeters_of_mercury
"""
_SPELLED = {"ppm": "parts per million", "kmh": "kilometers per hour"}


def _read_units() -> dict[str, tuple[str, str]]:
    units = {}
    for item in _UNITS.replace("\n", "|").strip("|").split("|"):
        symbol, one, *many = item.split()
        plural = many[0] if many else one + "s"
        units[symbol] = (one.replace("_", " "), _SPELLED.get(symbol, plural.replace("_", " ")))
    for symbol in (
        "km",
        "kg",
        "cm",
        "mm",
        "mph",
        "lbs",
        "oz",
        "mb",
        "gb",
        "kwh",
        "khz",
        "mhz",
        "ghz",
        "db",
        "kw",
        "hz",
    ):
        cased = next(s for s in units if s.lower() == symbol)
        for variant in (symbol, symbol.upper(), symbol.capitalize()):
            units.setdefault(variant, units[cased])
    return units


UNITS = _read_units()
# After a space these are more often words, names or letters than units.
GLUED_UNITS = frozenset(["in", "s", "h", "J", "Pa", "$", "ha", "pt", "cc", "L", "l", "W", "Mi", "Hr"])
NOT_GLUED_UNITS = frozenset(["B"])
PER_UNITS = {
    "h": "hour", "hr": "hour", "s": "second", "sec": "second", "min": "minute", "day": "day", "d": "day", "mo": "month",
    "yr": "year", "m": "meter", "km": "kilometer", "kg": "kilogram", "l": "liter", "L": "liter", "dL": "deciliter",
    "ml": "milliliter", "mL": "milliliter", "lb": "pound", "gal": "gallon", "mi": "mile", "ft": "foot",
    "m²": "square meter", "m³": "cubic meter", "s²": "second squared", "cm²": "square centimeter",
}  # fmt: skip

# --- capitals -------------------------------------------------------------------------------------------------------

# Said as words although the lexicon may not tell.
ACRONYMS = frozenset(
    "NASA NATO UNESCO UNICEF OPEC FEMA NAFTA AIDS SCUBA LASER RADAR SONAR COVID JPEG GIF LIDAR OSHA SWAT ASCII BASIC "
    "COBOL PIN SIM RAM ROM CAD ZIP SARS MERS NIMBY YOLO LAN WAN RAID SAT TED ASEAN INTERPOL NORAD POTUS JSON YAML "
    "TOML SOAP REST PAC OK DARPA NIST ICE".split()
)
# Always spelled, although the lexicon has such a word or reads it otherwise.
INITIALISMS = frozenset(
    "US UK EU UN UAE USA AI IT ID IQ TV PC CD DVD GPS FBI CIA NSA CEO CFO CTO COO HR PR VIP FAQ DIY UFO DNA RNA IBM "
    "MIT UCLA NBA NFL NHL MLB BBC CNN NBC ABC CBS PBS NPR HBO AM PM BC AD CE BCE PHD MD MBA BA MA BS SUV ATM IRS DMV "
    "HIV GDP CPU GPU API APIS URL USB HTML CSS SQL PHP XML PDF LED LCD IP OS UI UX VPN SMS RSVP ASMR LGBT NGO LLC PS "
    "LA DC NY NJ ER ICU EMT IV AC DJ MC OJ TNT EST PST GMT UTC AA AAA SEC EPA FDA CDC NIH FCC FTC DOJ DOD".split()
)
# Short words that are words even in capitals (emphasis).
EMPHATIC = frozenset(
    "a i am an as at be by do go he if in is it's me my no of oh ok on or so to up we all and any are ask bad big but "
    "can day did end far few for get god got had has her him his hot how its let man may men new nor not now off old "
    "one our out own put red run say see she six son stop ten the too try two use war was way who why win yes yet you "
    "sir boy girl top war hey wow fun job set air sea sun sky dog cat car key law lie low eat ice free box bed buy "
    "add act".split()
)
REGNAL_NAMES = frozenset(
    "henry louis george charles edward james william elizabeth mary richard philip pius paul napoleon nicholas "
    "catherine frederick peter alexander leo gregory benedict francis ferdinand innocent clement urban ivan ramses "
    "ptolemy john xerxes darius artaxerxes henri felipe carlos gustav christian harald olaf victor boniface julius "
    "sixtus".split()
)
ROMAN_NOUNS = frozenset(
    "war part chapter act volume section book bowl type phase class figure title article appendix level grade stage "
    "world scene vol unit mark canto psalm apollo ii iii rocky final quantity table plate annex".split()
)
