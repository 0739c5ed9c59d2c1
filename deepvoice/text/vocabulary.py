"""The normaliser's tables: abbreviations, units, currencies, months, initialisms.

Spoken forms are lower-case words; a piece in capitals ("PM") is spelled letter by letter.
"""

# --- abbreviations -------------------------------------------------------------------------------------------------

DOTTED = {
    "a.m.": "AM", "p.m.": "PM", "e.g.": "for example", "i.e.": "that is", "ph.d.": "PHD", "b.c.": "BC", "a.d.": "AD",
    "b.c.e.": "BCE", "c.e.": "CE", "p.s.": "PS", "o.k.": "okay", "a.k.a.": "also known as", "n.b.": "NB", "u.s.": "US",
    "et.al.": "et al",
}  # fmt: skip
DAYS = {
    "mon": "monday", "tue": "tuesday", "tues": "tuesday", "wed": "wednesday", "thu": "thursday", "thur": "thursday",
    "thurs": "thursday", "fri": "friday", "sat": "saturday", "sun": "sunday",
}  # fmt: skip
DAYS |= {day: day for day in DAYS.values()}
MONTHS = "january february march april may june july august september october november december".split()
MONTH_ABBREVIATIONS = {m[:3]: m for m in MONTHS} | {"sept": "september"}

# For the sentence splitter. Never at the end of a sentence:
ABBREVIATIONS_INSIDE = frozenset(
    "mr mrs ms messrs drs prof profs gen sen gov capt lt col sgt maj cmdr adm rev hon pres supt insp cpl pvt brig mme "
    "mlle e.g i.e approx incl excl esp cf viz vs v ca bros univ assn assoc asst attn govt misc mfg avg intl natl trans "
    "cu sq fl w.r.t".split()
)
# Not at the end of a sentence when a number follows:
ABBREVIATIONS_BEFORE_NUMBERS = frozenset(
    "lat agg temp elev tel cor ps sc rt gen ex "
    "no nos vol vols fig figs ch chap sec p pp pg pgs art ed est eq eqs para bk op pt rm fl b c d r max min ext "
    "ver temp elev "
    "ref refs app".split()
) | frozenset(MONTH_ABBREVIATIONS)
# Either: "name" ends only before a word that often starts sentences, "time" before any capital.
ABBREVIATIONS_OPEN = {
    **dict.fromkeys(
        "inc ltd co corp jr sr dept mon tue tues wed thu thur thurs fri u.s u.k u.n rep det rte mgr dir hosp inst fr "
        "bldg".split(),
        "name",
    ),
    **dict.fromkeys([m for m in MONTH_ABBREVIATIONS if m != "may"], "name"),
    **dict.fromkeys(
        "etc a.m p.m ave blvd rd hwy ln pl ct esq ph.d m.d b.c a.d al apt hr hrs min oz lb lbs yr yrs".split(), "time"
    ),
}
EXCLAIMED = frozenset("yahoo yum jeopardy".split())  # names that are written with an exclamation mark
SENTENCE_STARTERS = frozenset(
    "the a an this that these those he she it we they i you in on at for but and so if when while after before as his "
    "her their our my there here what who why how where yes no not however then also its it's he's she's i'm we're "
    "they're all some many most one two three both each every now today yesterday tomorrow later since although though "
    "because with from by to into during until once please thank let do does did is are was were can could will would "
    "should may might meanwhile instead therefore thus still yet perhaps maybe never even only".split()
)

# --- symbols --------------------------------------------------------------------------------------------------------

SYMBOLS = {
    "&": "and", "@": "at", "+": "plus", "%": "percent", "=": "equals", "×": "times", "÷": "divided by",
    "±": "plus or minus", "∓": "minus or plus", "≈": "approximately", "≅": "approximately equal to",
    "≡": "identical to",
    "≤": "less than or equal to", "≥": "greater than or equal to", "≪": "much less than", "≫": "much greater than",
    "≠": "not equal to", "<": "less than", ">": "greater than", "√": "square root of", "∛": "cube root of",
    "∞": "infinity", "°": "degrees", "§": "section", "¶": "paragraph", "⌘": "command", "⌥": "option", "⇧": "shift",
    "²": "squared", "³": "cubed", "‰": "per mille", "$": "dollars",
    "£": "pounds", "€": "euros", "¥": "yen", "₹": "rupees", "¢": "cents", "₩": "won", "₽": "rubles", "₺": "lira",
    "₪": "shekels", "₫": "dong", "₱": "pesos", "₿": "bitcoin", "₴": "hryvnias", "₦": "naira", "฿": "baht", "Ω": "ohms",
    "∑": "sum of", "∏": "product of", "∫": "integral of", "∂": "partial", "∇": "del", "∪": "union",
    "∩": "intersection", "∈": "in", "∉": "not in", "⊂": "subset of", "⊆": "subset of", "∅": "the empty set",
    "∀": "for all", "∃": "there exists", "¬": "not", "∧": "and", "∨": "or", "⊥": "perpendicular to", "∥": "parallel to",
    "∠": "angle", "∝": "proportional to", "∴": "therefore", "∵": "because", "′": "prime", "♯": "sharp", "♭": "flat",
}  # fmt: skip
OPERATORS = {  # written with several marks
    "==": "equals", "===": "equals", "!=": "not equal to", "!==": "not equal to", "<>": "not equal to",
    "<=": "less than or equal to", ">=": "greater than or equal to", "&&": "and", "||": "or", "++": "plus plus",
    "+=": "plus equals", "-=": "minus equals", "*=": "times equals", "+/-": "plus or minus", "**": "to the power of",
    "<<": "much less than", ">>": "much greater than", ":=": "becomes", ">&": "greater than and",
}  # fmt: skip
SILENT_OPERATORS = ("<->", "<--", "-->", "->", "=>", "<-", "::", "~~")  # only seen, and listed

# --- numbers in context ---------------------------------------------------------------------------------------------

NUMBER_WORDS = frozenset("two three four five six seven eight nine ten eleven twelve both pair double triple".split())
DETERMINERS = frozenset("a an the this that another each every my his her its our their your one".split())
# After a measure these show that it does not stand before its noun.
NOT_NOUNS = frozenset(
    "and are ago above across after also although apart around away because been before being below between both but "
    "came can come comes cost costs could deep did does down each either else even every for from goes going had has "
    "have her high his how into just later less like long made make may might mine more most much must not now off old "
    "older once only our out over own per plus rather she should since some still such tall than that the their them "
    "then there they thick this those though through today too toward towards two under until upon very was week well "
    "went were what when where which while who why wide will with within without would yesterday you your earlier "
    "instead worth left".split()
)
CODE_WORDS = frozenset(
    "code codes pin passcode password otp account zip extension serial tracking confirmation reference isbn issn ssn "
    "iban".split()
)
ROOM_WORDS = frozenset(["h t t p"]) | frozenset(
    "flight room route highway bus channel apartment suite gate interstate boeing unit error status exit area box "
    "building locker http".split()
)
CALL_WORDS = frozenset(
    "call calls called calling dial dials dialed dialing phone ring text caller callers operator operators dispatcher "
    "dispatchers".split()
)
EMERGENCY_NUMBERS = frozenset("911 211 311 411 511 611 711 811 999 112 988 101 111".split())
VERSION_WORDS = frozenset(
    "version versions release python ruby node java php perl django rails ubuntu debian fedora kubernetes docker linux "
    "kernel android macos ios safari firefox chrome numpy pandas pytorch tensorflow rust go swift kotlin scala "
    "postgres mysql redis nginx v update build http usb bluetooth".split()
)
BIBLE_BOOKS = frozenset(
    "genesis exodus leviticus numbers deuteronomy joshua judges ruth samuel kings chronicles ezra nehemiah esther job "
    "psalm psalms proverbs ecclesiastes isaiah jeremiah lamentations ezekiel daniel hosea joel amos obadiah jonah "
    "micah nahum habakkuk zephaniah haggai zechariah malachi matthew mark luke john acts romans corinthians galatians "
    "ephesians philippians colossians thessalonians timothy titus philemon hebrews james peter jude revelation".split()
)
DATE_CUES = frozenset("on by since until due dated before after starting ending".split())
BEGIN_WORDS = frozenset(  # a date after these ends its clause
    "starts started begins began ends ended opens opened closes closed expires expired released arrives".split()
)
DECADE_CUES = frozenset(
    "the his her their its my your our early mid late low lower mid-to-late upper high roaring swinging in and".split()
)
DECADE_NOUNS = frozenset(
    "music rock pop movie movies film films fashion style hair show shows kid kids child era band song songs hit hits "
    "sitcom party nostalgia disco jazz culture design icon star generation tv".split()
)
SECONDS_CUES = frozenset(
    "wait waits waited waiting for after takes took take within about every lasts lasted last delay timeout sleep "
    "sleeps slept under over less than only approximately another runs ran exactly just and".split()
) - frozenset(["and", "after", "last"])  # fmt: skip
SECONDS_NOUNS = frozenset(
    "timeout timeouts delay delays limit clip clips video interval intervals exposure ad spot mark later ago window "
    "pause countdown".split()
)
YEAR_WORDS = frozenset(
    "in since until till during year years circa spring summer autumn fall winter christmas easter early mid late date "
    "pre post born died established founded copyright".split()
) | frozenset(MONTHS)
# Before 1900 to 2099 these announce a year even when a plural follows ("by 2020 sales were up").
YEAR_PREPOSITIONS = frozenset("in by before after from since until to of".split())
QUANTITY_WORDS = frozenset(
    "over under nearly almost roughly approximately than only another exactly least most paid sold bought weighs costs "
    "contains holds counted some maximum minimum total plus minus times equals".split()
)
UNCOUNTED = frozenset(
    "people men women children feet fish sheep cattle police percent more dozen of mice personnel".split()
)
NOT_PLURALS = frozenset(
    "was is has as his its this thus us does always perhaps towards across besides afterwards plus versus less unless "
    "ours yours theirs hers whereas sometimes nevertheless nonetheless regardless says goes makes takes gives remains "
    "begins".split()
)

# --- currencies -----------------------------------------------------------------------------------------------------

CURRENCIES = {  # one, many, one hundredth, hundredths
    "$": ("dollar", "dollars", "cent", "cents"), "£": ("pound", "pounds", "penny", "pence"),
    "€": ("euro", "euros", "cent", "cents"), "¥": ("yen", "yen", "", ""),
    "₹": ("rupee", "rupees", "paisa", "paise"), "¢": ("cent", "cents", "", ""), "₩": ("won", "won", "", ""),
    "₽": ("ruble", "rubles", "kopeck", "kopecks"), "₺": ("lira", "lira", "kurush", "kurush"),
    "₪": ("shekel", "shekels", "agora", "agorot"), "₫": ("dong", "dong", "", ""),
    "₱": ("peso", "pesos", "centavo", "centavos"), "₿": ("bitcoin", "bitcoins", "", ""),
    "₴": ("hryvnia", "hryvnias", "kopeck", "kopecks"), "₦": ("naira", "naira", "kobo", "kobo"),
    "฿": ("baht", "baht", "satang", "satang"), "USD": ("US dollar", "US dollars", "cent", "cents"),
    "CHF": ("swiss franc", "swiss francs", "centime", "centimes"), "CNY": ("yuan", "yuan", "fen", "fen"),
    "BRL": ("real", "reais", "centavo", "centavos"), "MXN": ("mexican peso", "mexican pesos", "centavo", "centavos"),
    "kr": ("krone", "kroner", "", ""), "SEK": ("swedish krona", "swedish kronor", "", ""),
    "NOK": ("norwegian krone", "norwegian kroner", "", ""), "DKK": ("danish krone", "danish kroner", "", ""),
    "PLN": ("zloty", "zloty", "grosz", "groszy"), "ZAR": ("rand", "rand", "cent", "cents"),
    "CAD": ("canadian dollar", "canadian dollars", "cent", "cents"),
    "AUD": ("australian dollar", "australian dollars", "cent", "cents"),
    "NZD": ("new zealand dollar", "new zealand dollars", "cent", "cents"),
    "SGD": ("singapore dollar", "singapore dollars", "cent", "cents"),
    "HKD": ("hong kong dollar", "hong kong dollars", "cent", "cents"),
}  # fmt: skip
CURRENCY_SIGNS = "".join(sign for sign in CURRENCIES if len(sign) == 1)
CURRENCY_CODES = {code: code for code in CURRENCIES if len(code) > 1}
CURRENCY_CODES |= {"EUR": "€", "GBP": "£", "JPY": "¥", "INR": "₹", "Rs": "₹", "RMB": "CNY", "KRW": "₩", "RUB": "₽"}
# "=" marks a currency of its own.
CURRENCY_PREFIXES = {
    "US": "US", "U.S.": "US", "CA": "canadian", "C": "canadian", "AU": "australian", "A": "australian",
    "NZ": "new zealand", "HK": "hong kong", "S": "singapore", "NT": "taiwan", "R": "=BRL", "MX": "=MXN",
}  # fmt: skip
MAGNITUDES = {
    "k": "thousand", "m": "million", "mn": "million", "mm": "million", "b": "billion", "bn": "billion", "t": "trillion",
    "tn": "trillion", "hundred": "hundred", "thousand": "thousand", "million": "million", "billion": "billion",
    "trillion": "trillion", "quadrillion": "quadrillion", "lakh": "lakh", "crore": "crore", "mil": "million",
    "bil": "billion",
}  # fmt: skip
