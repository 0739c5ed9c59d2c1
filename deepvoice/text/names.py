"""Tables about capitals and names: what is spelled, what is a word, rulers, what Roman numerals number, states."""

# Said as words although the lexicon may not tell.
ACRONYMS = frozenset(
    "NASA NATO UNESCO UNICEF OPEC FEMA NAFTA AIDS SCUBA LASER RADAR SONAR COVID JPEG GIF LIDAR OSHA SWAT ASCII BASIC "
    "COBOL PIN SIM RAM ROM CAD ZIP SARS MERS NIMBY YOLO LAN WAN RAID SAT TED ASEAN INTERPOL NORAD POTUS JSON YAML TOML "
    "SOAP REST PAC OK DARPA NIST ICE NASDAQ GAAP HIPAA MAGA NORML FICA BAFTA LOL SUDOKU GUI WYSIWYG ROFL CAPTCHA "
    "CRISPR BIOS NAND FIFO LIFO MIDI NASCAR AWOL FUBAR SNAFU EFTPOS QUANGO MENSA GIMP DOS JAMA IKEA LEGO FIFA UEFA "
    "ISIS".split()
)
# Always spelled, although the lexicon has such a word or reads it otherwise.
INITIALISMS = frozenset(
    "US UK EU UN UAE USA AI IT ID IQ TV PC CD DVD GPS FBI CIA NSA CEO CFO CTO COO HR PR VIP FAQ DIY UFO DNA RNA IBM "
    "MIT UCLA NBA NFL NHL MLB BBC CNN NBC ABC CBS PBS NPR HBO AM PM BC AD CE BCE PHD MD MBA BA MA BS SUV ATM IRS DMV "
    "HIV GDP CPU GPU API APIS URL USB HTML CSS SQL PHP XML PDF LED LCD IP OS UI UX VPN SMS RSVP ASMR LGBT NGO LLC PS "
    "LA DC NY NJ ER ICU EMT IV AC DJ MC OJ TNT EST PST GMT UTC AA AAA SEC EPA FDA CDC NIH FCC FTC DOJ DOD HTTP HTTPS "
    "ISBN ISSN SSN PNG TXT SSH FTP TCP UDP DNS JFK XYZ NFC RFID ESPN ACLU BMW FYI ASAP LSD PTSD ADHD OCD STD MRI ECG "
    "EKG CPR DOA DUI GOP NRA GPA PTA YMCA TSA ETA RIP KGB GMO CBD THC BBQ IMO IMHO TBD TBA FAQS CV AKA BLT GED EIN EV "
    "EVS FM PE GE GM HQ HP LG JP PB PBJ QA RV TA TB TLC UV WC WTO IMF NYC NYPD LAPD NYU CSI POW POWS MIA".split()
)
# Words of two and three letters that are words in capitals too (emphasis); others are spelled.
EMPHATIC = frozenset(
    "a i am an as at be by do go he if in is it's me my no of oh ok on or so to up we all and any are ask bad big but "
    "can day did end far few for get god got had has her him his hot how its let man may men new nor not now off old "
    "one our out own put red run say see she six son stop ten the too try two use was way who why win yes yet you act "
    "add age ago aid aim air arm art ate bag ban bar bat bay bed bee beg bet bit bow box boy bug bus buy cab cap car "
    "cat cop cow cry cup cut dad den dew die dig dim dip dog dot dry due dug dye ear eat egg ego eve eye fan fat fed "
    "fee fit fix fly fog fox fry fun fur gap gas gay gel gem gin gum gun gut guy gym ham hat hay hen hey hid hip hit "
    "hop hug hut ice ill ink inn ion ivy jam jar jaw jet job jog joy jug key kid kin kit lab lad lap law lay leg lid "
    "lie lip lit log lot low mad map mat max met mix mob mom mop mud mug nap net nod nun nut oak odd oil opt ore owe "
    "owl pad pan pat paw pay pea pen pet pie pig pin pit pop pot pub pup rag ran rat raw ray rib rid rim rip rob rod "
    "rot row rub rug rum sad sat saw sea set sew sex sin sip sir sit ski sky sly sob sow soy spy sum sun tag tan tap "
    "tar tax tea tie tin tip toe ton top toy tub van vet via vow war wax web wed wet wig wit won wow yep".split()
)
REGNAL_NAMES = frozenset(
    "henry louis george charles edward james william elizabeth mary richard philip pius paul napoleon nicholas "
    "catherine frederick peter alexander leo gregory benedict francis ferdinand innocent clement urban ivan ramses "
    "ptolemy john xerxes darius artaxerxes henri felipe carlos gustav christian harald olaf victor boniface julius "
    "sixtus robert david haakon margaret margrethe isabella alfonso leopold albert otto wilhelm friedrich cyrus "
    "cleopatra antiochus tiberius justinian theodosius constantine malcolm stephen edgar pedro maximilian franz joseph "
    "umberto emmanuel mehmed selim osman rama thutmose amenhotep seti sancho baldwin casimir sigismund adrian eugene "
    "celestine honorius nero".split()
) - {"nero", "malcolm"}
# Common first names of men: "Robert Jones III" is "the third", "Final Fantasy III" is "three".
FIRST_NAMES = REGNAL_NAMES | frozenset(
    "thomas michael daniel mark donald steven andrew kenneth kevin brian timothy jeffrey ryan jacob gary eric jonathan "
    "larry justin scott brandon benjamin samuel raymond patrick jack dennis jerry aaron jose henry adam nathan douglas "
    "zachary kyle walter ethan jeremy harold keith roger arthur lawrence sean christian bruce bryan roy ralph eugene "
    "randy howard carl russell bobby martin harry fred wayne louis marcus theodore clarence hank sam".split()
)
ROYAL_TITLES = frozenset("king queen pope emperor empress tsar czar kaiser prince princess sultan duke popes".split())
ROMAN_NOUNS = frozenset(
    "war part chapter act volume section book bowl type phase class figure title article appendix level grade stage "
    "world scene vol unit mark canto psalm apollo rocky final fantasy quantity table plate annex episode parts "
    "chapters acts volumes sections books types phases classes figures articles appendices levels stages scenes series "
    "division group category page pages olympiad movement symphony sonata opus number lesson module schedule exhibit "
    "corps tier saturn factor track division wrestlemania".split()
)
# Written in mixed case; a piece in capitals is spelled.
MIXED_CASE = {
    "iOS": "IOS", "macOS": "mac OS", "PhD": "PHD", "PhDs": "PHD's", "mRNA": "M RNA", "tRNA": "T RNA", "pH": "PH",
    "MySQL": "my SQL", "NoSQL": "no SQL", "PostgreSQL": "postgres QL", "SQLite": "SQL lite", "LaTeX": "lay tech",
    "IPv4": "IP V four", "IPv6": "IP V six", "eBook": "E book", "eBooks": "E books", "iPad": "I pad", "iPads": "I pads",
    "iPhone": "I phone", "iPhones": "I phones", "iMac": "I mac", "iCloud": "I cloud", "iTunes": "I tunes",
    "iPod": "I pod", "eBay": "E bay", "WiFi": "wi fi", "DevOps": "dev ops", "McDonald": "mcdonald", "GmbH": "GMBH",
    "WWI": "world war one", "WWII": "world war two", "YoY": "year over year", "QoQ": "quarter over quarter",
    "MoM": "month over month",
    "OAuth": "O auth", "GraphQL": "graph QL", "CoV": "cov", "LLaMA": "llama",
    "IgG": "IGG", "IgA": "IGA", "IgM": "IGM", "IgE": "IGE", "vCPU": "V CPU", "TypeScript": "type script",
}  # fmt: skip
# Chat, in small letters.
CHAT = {
    "omg": "OMG", "idk": "IDK", "ikr": "IKR", "smh": "SMH", "ngl": "NGL", "nvm": "never mind", "abt": "about",
    "ppl": "people", "gr8": "great", "l8r": "later", "l8": "late", "m8": "mate", "w8": "wait", "b4": "before",
    "afaik": "AFAIK", "imo": "IMO", "imho": "IMHO", "fyi": "FYI", "asap": "ASAP", "tbf": "TBF", "ftw": "FTW",
}  # fmt: skip
STATES = {
    "AL": "alabama", "AK": "alaska", "AZ": "arizona", "AR": "arkansas", "CA": "california", "CO": "colorado",
    "CT": "connecticut", "DE": "delaware", "FL": "florida", "GA": "georgia", "HI": "hawaii", "ID": "idaho",
    "IL": "illinois", "IN": "indiana", "IA": "iowa", "KS": "kansas", "KY": "kentucky", "LA": "louisiana", "ME": "maine",
    "MD": "maryland", "MA": "massachusetts", "MI": "michigan", "MN": "minnesota", "MS": "mississippi", "MO": "missouri",
    "MT": "montana", "NE": "nebraska", "NV": "nevada", "NH": "new hampshire", "NJ": "new jersey", "NM": "new mexico",
    "NY": "new york", "NC": "north carolina", "ND": "north dakota", "OH": "ohio", "OK": "oklahoma", "OR": "oregon",
    "PA": "pennsylvania", "RI": "rhode island", "SC": "south carolina", "SD": "south dakota", "TN": "tennessee",
    "TX": "texas", "UT": "utah", "VT": "vermont", "VA": "virginia", "WA": "washington", "WV": "west virginia",
    "WI": "wisconsin", "WY": "wyoming", "DC": "DC",
}  # fmt: skip
