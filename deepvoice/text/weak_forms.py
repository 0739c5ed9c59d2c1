"""Weak forms: how function words are said inside a sentence.

CMUdict lists the citation form of every word, so it stresses `of` and `the`. Connected speech does not. The
front end that labels a corpus and the front end that speaks both use this table, so labels and speech agree.
"""

from collections.abc import Sequence

from deepvoice.text.phones import is_vowel

# word -> (before a consonant, before a vowel)
WEAK: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    word: (tuple(before_consonant.split()), tuple((before_vowel or before_consonant).split()))
    for word, before_consonant, before_vowel in [
        ("the", "DH AH0", "DH IY0"),
        ("a", "AH0", ""),
        ("an", "AH0 N", ""),
        ("of", "AH0 V", ""),
        ("to", "T AH0", "T UH0"),
        ("and", "AE0 N D", ""),  # with AH0, recognisers hear "in"
        ("was", "W AH0 Z", ""),
        ("were", "W ER0", ""),
        ("from", "F R AH0 M", ""),
        ("for", "F AO0 R", ""),
        ("at", "AE0 T", ""),
        ("as", "AE0 Z", ""),
        ("that", "DH AE0 T", ""),
        ("than", "DH AH0 N", ""),
        ("or", "AO0 R", ""),
        ("can", "K AH0 N", ""),
        ("could", "K UH0 D", ""),
        ("would", "W UH0 D", ""),
        ("he", "HH IY0", ""),
        ("his", "HH IH0 Z", ""),
        ("her", "HH ER0", ""),
        ("she", "SH IY0", ""),
        ("you", "Y UW0", ""),
        ("your", "Y AO0 R", ""),
        ("we", "W IY0", ""),
        ("my", "M AY0", ""),
        ("it", "IH0 T", ""),
        ("is", "IH0 Z", ""),
        ("are", "AA0 R", ""),
        ("be", "B IY0", ""),
        ("been", "B IH0 N", ""),
        ("am", "AE0 M", ""),
        ("has", "HH AE0 Z", ""),
        ("had", "HH AE0 D", ""),
        ("have", "HH AE0 V", ""),
        ("will", "W IH0 L", ""),
        ("with", "W IH0 DH", ""),
        ("by", "B AY0", ""),
        ("in", "IH0 N", ""),
        ("if", "IH0 F", ""),
        ("this", "DH IH0 S", ""),
        ("these", "DH IY0 Z", ""),
        ("those", "DH OW0 Z", ""),
        ("their", "DH EH0 R", ""),
        ("there", "DH EH0 R", ""),
        ("they", "DH EY0", ""),
        ("which", "W IH2 CH", ""),
        ("them", "DH EH2 M", ""),
        ("but", "B AH2 T", ""),
        ("on", "AA2 N", ""),
        ("some", "S AH2 M", ""),
        ("into", "IH1 N T UW0", ""),
        ("i", "AY2", ""),
        ("me", "M IY2", ""),
        ("him", "HH IH2 M", ""),
        ("us", "AH2 S", ""),
        ("our", "AW2 ER0", ""),
        ("its", "IH0 T S", ""),
        ("who", "HH UW2", ""),
        ("what", "W AH2 T", ""),
        ("when", "W EH2 N", ""),
        ("where", "W EH2 R", ""),
        ("while", "W AY2 L", ""),
        ("so", "S OW2", ""),
        ("not", "N AA2 T", ""),
        ("up", "AH2 P", ""),
        ("through", "TH R UW0", ""),
        ("shall", "SH AE2 L", ""),
        ("should", "SH UH2 D", ""),
        ("might", "M AY2 T", ""),
    ]
}

# Said in full when they end a clause: "what are you looking at?"
_STRONG_AT_CLAUSE_END = frozenset(
    (
        "the a of to was were from for at as that can could would should might shall is are be been am has had have "
        "will with by in on or this these those there what who when where so through up not"
    ).split()
)


def weak_form(word: str, next_phones: Sequence[str], clause_final: bool) -> tuple[str, ...] | None:
    """Return the weak pronunciation of a lower-case word in context, or None when it has none there.

    next_phones: phones of the following word, empty before a pause.
    clause_final: the word stands before a pause or the end of the sentence.
    """
    forms = WEAK.get(word)
    if forms is None or (clause_final and word in _STRONG_AT_CLAUSE_END):
        return None
    return forms[bool(next_phones) and is_vowel(next_phones[0])]
