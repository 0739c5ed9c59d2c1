"""Chemical formulas in mixed case: "NaOH", "CaCO3" are spelled, though "Na" and "Ca" look like words."""

import re

_ELEMENT = re.compile(
    "A[cglrstu]|B[aeir]?|C[adelorsu]?|Dy|E[ru]|F[er]?|G[ade]|H[efgo]?|I[nr]?|Kr?|L[aiu]|M[gno]|N[abdei]?|Os?|P[abdortu]?"
    "|R[abehnu]|S[bceimnr]?|T[abehilm]|U|V|W|Xe|Yb?|Z[nr]"
)
_PARTNERS = frozenset("H C N O F P S Cl Se Br I As Te".split())  # hardly any formula is without one of these
_OTHERWISE = frozenset("HeLa CoV NaN PoE InCo LiPo".split())  # elements by chance


_COUNTED = re.compile(r"\d+(?=[A-Z(])")


def is_formula(word: str, text: str, end: int) -> bool:
    """Tell whether a word of letters, which ends at text[end], is made of chemical elements, one with a small letter.

    One element is enough when a number and others follow ("Fe2O3").
    """
    if word.isupper() or word in _OTHERWISE or not word.isascii():
        return False
    elements = _ELEMENT.findall(word)
    if not elements or "".join(elements) != word or (word[-1] == "s" and word[:-1].isupper()):
        return False
    if len(elements) == 1:
        return _COUNTED.match(text, end) is not None
    return not _PARTNERS.isdisjoint(elements) and len(set(elements)) > 1
