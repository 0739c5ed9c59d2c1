"""Kinds of writing that a newcomer tried: each line is a text and the words that are said for it."""

import pytest

from tests.text.test_cases import canonical, said

TABLE = """
two $20s and three $5s | two twenties and three fives
$100s of change, $150s of it | hundreds of change one hundred fifties of it
It cost $20. | it cost twenty dollars
an 802.11ax router | an eight oh two dot eleven A X router
802.11n and 802.3af | eight oh two dot eleven N and eight oh two dot three A F
It weighs 802.5 grams. | it weighs eight hundred two point five grams
NaOH and HCl make NaCl. | N A O H and H C L make N A C L
CaCO3, MgSO4 and KMnO4 | C A C O three M G S O four and K M N O four
Two CEOS left PRS for PCs | two C E O's left P R S for P C's
Fe2O3 in MacBooks and PCs | F E two O three in macbooks and P C's
a 90+4' penalty | a ninety plus four minute penalty
scored at 45+2' | scored at forty five plus two minutes
add 3/4 C sugar | add three quarters cup sugar
1 1/2 c. flour, sifted | one and a half cups flour sifted
Mix 2 C milk with 1 C sugar. | mix two cups milk with one cup sugar
It is 20 C outside. | it is twenty degrees celsius outside
a fever of 101.5F | a fever of one hundred one point five degrees fahrenheit
sit in seat 12 C | sit in seat twelve C
the 3 C words | the three C words
heat 2 C batteries | heat two C batteries
a 3/4" pipe and a 1/2" drill | a three quarters inch pipe and a one half inch drill
He said "I am 6" and bought a 5" pipe. | he said i am six and bought a five inch pipe
make 2>&1 | make two greater than and one
if a != b | if A not equal to B
return !ready | return not ready
See Pub. Law No. 104-191 now. | see pub law number one oh four one ninety one now
Nos. 12-14 and no. 3-5 | numbers twelve to fourteen and number three to five
Yahoo! is old. | yahoo is old
Yum! Brands grew. | yum brands grew
5! = 120 and n! = n(n-1)! | five factorial equals one hundred twenty and N factorial equals N N one
tonight at 8/7c | tonight at eight seven central
Jan. 3rd-5th | january third to fifth
7/8ths of it | seven eighths of it
on 10/24, 9/11 and 3/4 | on october twenty fourth nine eleven and three quarters
The season starts 11/5. | the season starts november fifth
She opened 1/2 the jars. | she opened one half the jars
The season ended 4/20. | the season ended april twentieth
It took 2:00:35 and 2:15:05. | it took two oh oh thirty five and two fifteen oh five
Model 3: 0-60 in 3 s | model three zero to sixty in three S
a 3:1 lead, or 3 : 1 | a three to one lead or three to one
10 - 2 = 8 and 10-2=8 | ten minus two equals eight and ten minus two equals eight
up 25 bps | up twenty five basis points
a modem of 9600 bps | a modem of nine thousand six hundred bits per second
3 × 10^8 m/s. | three times ten to the eighth meters per second
3 x 10^8 m/s. | three times ten to the eighth meters per second
It is 1.5e-5 m long. | it is one point five times ten to the minus five meters long
2e5 V | two times ten to the fifth volts
3e8m/s | three times ten to the eighth meters per second
the code 3e8f | the code three e eight f
2 x 3 = 6 | two times three equals six
a 4 x 4 truck | a four by four truck
It weighs 10^-3 kg. | it weighs ten to the minus three kilograms
180 °C/350 °F/gas 4 | one hundred eighty degrees celsius three hundred fifty degrees fahrenheit gas four
§§ 4-6 | sections four to six
TL;DR it works | T L D R it works
Pt. Reyes and pt. 3 | point reyes and part three
F#m7, C# and G#maj7 | F sharp minor seven C sharp and G sharp major seven
buy $AAPL for $12 | buy A A P L for twelve dollars
a 2'x4' board | a two feet by four feet board
$1.26 vs. $1.19 est. | one dollar and twenty six cents versus one dollar and nineteen cents estimated
est. 1892 | established eighteen ninety two
agg. 5-2 and Lat. 40 | aggregate five to two and latitude forty
Eq. (2) | equation two
up 4% y/y | up four percent year over year
omg idk, gr8 m8, c u 2nite | O M G I D K great mate C U tonight
sqrt(16) | square root of sixteen
wind NW at 10 mph, 5 km SW of town | wind northwest at ten miles per hour five kilometers southwest of town
12 Elm Ave. NW, Washington, DC 20500 | twelve elm avenue northwest washington D C two zero five zero zero
Ship to Boise ID 83702 today. | ship to boise I D eight three seven zero two today
"""


@pytest.mark.parametrize("line", TABLE.strip().splitlines())
def test_reading(front_end, line):
    text, expected = line.split(" | ")
    assert said(front_end, text) == canonical(expected)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Yahoo! is old. Yum! Brands grew.", 2),
        ("She works at Yahoo! The pay is good.", 2),
        ("We know that 5! = 120 and more.", 1),
        ("It is 5! We won.", 2),
        ("He lives on Elm Ave. NW, in Salem.", 1),
        ("He lives on Elm Ave. Nobody knows.", 2),
        ("Visit Pt. Reyes soon.", 1),
        ("Smith (D-N.Y.) and Jones (R-Tex.) agreed.", 1),
        ("It costs $5/mo. (plus tax).", 1),
        ("Arsenal won (agg. 5-2) again.", 1),
    ],
)
def test_sentence_ends(front_end, text, count):
    assert len(front_end.analyse(text).sentences) == count


def test_hearts_are_no_comparison(front_end):
    analysis = front_end.analyse("love you <3<3<3 bye")
    assert [word.text for word in analysis.sentences[0].words] == ["love", "you", "bye"]
    assert said(front_end, "Go, team <3") == "go team"
    assert said(front_end, "for p <3 only") == "for p less than three only"
