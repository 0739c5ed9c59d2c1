"""What is said for numbers, money, measures, times, dates, codes, abbreviations, capitals and addresses."""

import pytest

TABLE = """
We sold 3,497 seats. => we sold three thousand four hundred ninety seven seats .
1,234 items => one thousand two hundred thirty four items .
3.14159 => three point one four one five nine .
$1.5 million => one point five million dollars .
$7,667.47 => seven thousand six hundred sixty seven dollars and forty seven cents .
It costs $100,000. => it costs one hundred thousand dollars .
Pi is 3.14. => pi is three point one four .
$12 => twelve dollars .
-0.4 degrees => minus zero point four degrees .
In 1397 => in thirteen ninety seven .
In 2005 => in two thousand five .
In 1905 => in nineteen oh five .
In 2000 => in two thousand .
The bill is 2358 dollars. => the bill is two thousand three hundred fifty eight dollars .
We saw 1905 people. => we saw one thousand nine hundred five people .
the 24th, 22nd => the twenty fourth , twenty second .
101st and 1,001st => one hundred first and one thousand first .
a 10m (32ft) passage => a ten meters , thirty two feet , passage .
5km => five kilometers .
20°C => twenty degrees celsius .
3 kWh => three kilowatt hours .
60 mph => sixty miles per hour .
1 kg at 5 km/h => one kilogram at five kilometers per hour .
10 m² => ten square meters .
the x² and a³b brillig² => the X squared and A cubed B brillig squared .
per m², in km³ => per square meters , in cubic kilometers .
F# and C#, #1 #cat => F sharp and C sharp , number one hashtag cat .
2/3 cup => two thirds cup .
50g => fifty grams .
Sunset Blvd => sunset boulevard .
1/2 => one half .
3½ miles => three and a half miles .
1:49 PM => one forty nine PM .
3:05 => three oh five .
09:08 AM => nine oh eight AM .
12:00 => twelve o'clock .
at 5 p.m. today => at five PM today .
Your code is 276983. => your code is two seven six nine eight three .
123-456-0987 => one two three , four five six , zero nine eight seven .
(555) 123-4567 => five five five , one two three , four five six seven .
2026-11-30 => november thirtieth , twenty twenty six .
03/04/2026 => march fourth , twenty twenty six .
On Nov. 30, 2026 => on november thirtieth , twenty twenty six .
the 30 November 2026 => the thirtieth of november twenty twenty six .
mail bob.lee@example.com => mail bob dot lee at example dot com .
see https://example.org/a-b?x=1 => see example dot org slash A dash B question mark X equals one .
www.nasa.gov => nasa dot gov .
**Bold** and *soft* => bold and soft .
5 * 3 = 15 => five times three equals fifteen .
10 / 2 = 5 => ten divided by two equals five .
2 * 3 / 7 => two times three divided by seven .
x / y = 3 => X divided by Y equals three .
either / or, 24 / 7 => either or , twenty four seven .
-5 - -3 => minus five minus minus three .
5 - -3 = 8 and 5 - 3 = 2 => five minus minus three equals eight and five minus three equals two .
It is about 1e-5. => it is about one times ten to the minus five .
It measures 11 in. => it measures eleven inches .
It is 5 ft 11 in. => it is five feet eleven inches .
5 ft 11 in tall => five feet eleven inches tall .
We let 11 in. => we let eleven in .
Room 11 in the hall => room eleven in the hall .
this is a <test> of 3 < 5 => this is a test of three less than five .
IBM's mainframes, the MP3s => IBM's mainframes , the MP threes .
FBI, CEO, NASA, US Army, AI => FBI , CEO , nasa , US army , AI .
LET US GO HOME NOW. => let us go home now .
AT&T and R&D => AT and T and R and D .
COVID-19 and B2B => covid nineteen and B two B .
10-15 people => ten to fifteen people .
1914–1918 => nineteen fourteen to nineteen eighteen .
5 - 3 => five minus three .
the 1990s and the '90s => the nineteen nineties and the nineties .
£3.50 and $0.99 => three pounds and fifty pence and ninety nine cents .
US$5/month => five US dollars per month .
3.5% off => three point five percent off .
192.168.1.1 => one ninety two dot one sixty eight dot one dot one .
Dr. Lee of St. John St. => doctor lee of saint john street .
Elm Dr. is closed => elm drive is closed .
Mr. and Mrs. Jones Jr. => mister and missus jones junior .
Prof. Lee vs. Rev. King => professor lee versus reverend king .
cats, dogs, etc. => cats , dogs , et cetera .
e.g. this, i.e. that => for example this , that is that .
No. 5 => number five .
She said no. => she said no .
I said no. 5 people left. => i said no . five people left .
Press 1 for yes or no. 2 => press one for yes or no . two .
Oh no. 2 cats! => oh no . two cats !
She told him no. 3 => she told him no . three .
See room no. 12 or no. 3. => see room number twelve or number three .
J. R. R. Tolkien => J R R tolkien .
the U.S. economy => the US economy .
Louis XIV and World War II => louis the fourteenth and world war two .
Henry VIII's wives => henry the eighth's wives .
flight 370, room 237, route 66 => flight three seventy , room two thirty seven , route sixty six .
24/7 => twenty four seven .
vitamin C, plan B => vitamin C , plan B .
So did I. => so did i .
rock 'n' roll 'tis => rock 'n roll 'tis .
twenty-one well-known => twenty one well known .
well -- no => well - no .
yes—no - maybe => yes - no - maybe .
a word; another: last => a word ; another : last .
He (the boy) ran. => he , the boy , ran .
page(s) => pages .
.5 and -5 => point five and minus five .
α and 5 µm => alpha and five micrometers .
9am-5pm => nine AM to five PM .
By 2020 sales were up. => by twenty twenty sales were up .
1985's best => nineteen eighty five's best .
It's 5 in. long, 6'2" tall. => it's five inches long , six feet two inches tall .
50/50 => fifty fifty .
a) one => A , one .
1999/2000 => nineteen ninety nine slash two thousand .
1234567 => one million two hundred thirty four thousand five hundred sixty seven .
"""


@pytest.mark.parametrize("case", TABLE.strip().splitlines())
def test_table(case, spoken):
    text, expected = case.split(" => ")
    assert spoken(text) == expected


def test_curly_apostrophes_say_the_same(front_end):
    ascii_text = "No, it wasn't. We're here, don't go; it's the dog's."
    for apostrophe in ("’", "ʼ", "`", "＇"):
        curly = front_end.analyse(ascii_text.replace("'", apostrophe))
        plain = front_end.analyse(ascii_text)
        assert [s.sequence for s in curly.sentences] == [s.sequence for s in plain.sentences]


def test_a_long_query_is_dropped_and_listed(front_end):
    report = front_end.analyse("See https://example.org/page?session=0123456789abcdef0123456789 now.").report
    (entry,) = report.dropped
    assert entry.text.startswith("?session=") and entry.reason == "long query of an address"


def test_rows_of_symbols_are_dropped_and_listed(front_end):
    report = front_end.analyse("Title\n=======\nText").report
    assert [(d.text, d.reason) for d in report.dropped] == [("=======", "row of symbols")]
