"""Tables of units: what the symbols after numbers are read as, one and many."""

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
kbps kilobit_per_second kilobits_per_second|mph mile_per_hour miles_per_hour
Mbps megabit_per_second megabits_per_second|Gbps gigabit_per_second gigabits_per_second
mpg mile_per_gallon miles_per_gallon|rpm RPM RPM|kph kilometer_per_hour kilometers_per_hour|kmh kilometer_per_hour
tsp teaspoon|tbsp tablespoon|Tbsp tablespoon|Tsp teaspoon|tbs tablespoon|Tbs tablespoon
bpm beat_per_minute beats_per_minute|dpi dot_per_inch dots_per_inch|MP megapixel|mmol millimole|ng nanogram
N newton|kN kilonewton|Nm newton_meter|lm lumen|lx lux lux|kgf kilogram_force|IU IU IU|BTU BTU BTUS|Ah amp_hour
mol mole|ppb part_per_billion|doz dozen dozen|pkg package|pcs piece|qt quart|rad radian|kt knot|kn knot
TWh terawatt_hour|eV electron_volt|keV kilo_electron_volt|GeV giga_electron_volt|kbit kilobit|Mbit megabit|Gbit gigabit
KiB kibibyte|lg large large|MiB mebibyte|GiB gibibyte|pp percentage_point|hrs hour|fl fluid_ounce|ac acre|knots knot
fps frame_per_second frames_per_second|px pixel|pt point|pts point|hp horsepower horsepower|ppm part_per_million
°C degree_celsius degrees_celsius|°F degree_fahrenheit degrees_fahrenheit|°K degree_kelvin degrees_kelvin
° degree|USD US_dollar US_dollars|EUR euro|GBP pound|JPY yen yen|CAD canadian_dollar canadian_dollars|€ euro|£ pound
bp basis_point|bps bit_per_second bits_per_second
¢ cent|$ dollar|¥ yen yen|sqft square_foot square_feet|cc CC CC|mmHg millimeter_of_mercury millimeters_of_mercury
"""
_SPELLED = {"ppm": "parts per million", "ppb": "parts per billion", "kmh": "kilometers per hour"}


def _read_units() -> dict[str, tuple[str, str]]:
    units = {}
    for item in _UNITS.replace("\n", "|").strip("|").split("|"):
        symbol, one, *many = item.split()
        plural = many[0] if many else one + "s"
        units[symbol] = (one.replace("_", " "), _SPELLED.get(symbol, plural.replace("_", " ")))
    for symbol in "km kg cm mm mph lbs oz mb gb kwh khz mhz ghz db kw hz".split():
        cased = next(s for s in units if s.lower() == symbol)
        for variant in (symbol, symbol.upper(), symbol.capitalize()):
            units.setdefault(variant, units[cased])
    return units


UNITS = _read_units()
# After a space these are more often words, names or letters than units.
GLUED_UNITS = frozenset(
    [
        "in",
        "s",
        "h",
        "J",
        "Pa",
        "$",
        "ha",
        "pt",
        "cc",
        "l",
        "W",
        "Mi",
        "Hr",
        "N",
        "kn",
        "kt",
        "ac",
        "fl",
        "IU",
        "pp",
        "rad",
        "mol",
        "MP",
    ]
)
NOT_GLUED_UNITS = frozenset(["B"])
PER_UNITS = {
    "h": "hour", "hr": "hour", "s": "second", "sec": "second", "min": "minute", "day": "day", "d": "day", "mo": "month",
    "yr": "year", "m": "meter", "km": "kilometer", "kg": "kilogram", "l": "liter", "L": "liter", "dL": "deciliter",
    "ml": "milliliter", "mL": "milliliter", "lb": "pound", "gal": "gallon", "mi": "mile", "ft": "foot",
    "m²": "square meter", "km²": "square kilometer", "cm²": "square centimeter", "in²": "square inch",
    "mol": "mole", "m³": "cubic meter", "cm³": "cubic centimeter", "s²": "second squared",
}  # fmt: skip
# Written without a number ("price per kg", "in km") these are still read in full.
UNIT_WORDS = frozenset("ft km kg cm mm ml mph kph lb lbs tbsp tsp hrs yrs mins".split())
