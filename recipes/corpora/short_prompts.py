"""Short utterances that books lack: one to four words, letters, numbers, lists and dialogue.

A network trained on long sentences alone speaks a single word badly; these fill the gap. Everything is a function of
the seed and of the words given.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_INITIALISMS = ("FBI", "BBC", "USA", "UK", "CEO", "ATM", "DVD", "CPU", "PhD", "TV", "PM", "HTML", "GPS", "VIP", "NBC")
_REPLIES = (
    "Yes", "No", "Maybe", "Of course", "Certainly", "Not yet", "I see", "Thank you", "Good morning", "Good night",
    "Hello", "Goodbye", "Come in", "Never mind", "Not at all", "Well done", "I think so", "I hope not", "Very well",
    "Wait a moment", "As you wish", "So do I", "That is all", "You are right", "I do not know", "Please sit down",
)  # fmt: skip
_QUESTIONS = (
    "Who is there", "What time is it", "Where are you going", "Why not", "How much is it", "Are you ready", "Is it far",
    "Do you hear me", "Can you help me", "Shall we go", "When does it open", "Which one", "Did he write", "Was it you",
    "What did she say", "Have you seen it", "How many are left", "May I come in", "Really", "Is that so",
)  # fmt: skip
_CRIES = (
    "Stop",
    "Look",
    "Wonderful",
    "What a day",
    "Hurry up",
    "Watch out",
    "How strange",
    "Never",
    "Not now",
    "Enough",
)
_NAMES = ("Mary", "John", "Anna", "Peter", "Susan", "George", "Helen", "Robert", "Alice", "David", "Laura", "Henry")
_SAYS = ("said", "asked", "replied", "cried", "answered")
_MONTHS = ("January February March April May June July August September October November December").split()


def common_words(texts: Sequence[str], least: int = 2) -> list[str]:
    """Return lower-case words that occur at least so often, commonest first."""
    counts = Counter(word for text in texts for word in re.findall(r"\b[a-z]{2,12}\b", text))
    return [word for word, count in counts.most_common() if count >= least]


def phrases(texts: Sequence[str], random: Random) -> str:
    """Cut one to four words that stand together out of a text."""
    words = re.findall(r"[A-Za-z]+(?:'[a-z]+)?", random.choice(texts))
    size = min(random.choice((1, 1, 2, 2, 3, 4)), len(words))
    start = random.randrange(len(words) - size + 1) if words else 0
    return " ".join(words[start : start + size]).lower()


def letters(random: Random) -> str:
    """Letters, alone or in a row, and initialisms."""
    kind = random.randrange(4)
    if kind == 0:
        return f"the letter {random.choice(_LETTERS)}"
    if kind == 1:
        return " ".join(random.sample(_LETTERS, random.randint(2, 5)))
    if kind == 2:
        return f"the {random.choice(_INITIALISMS)}"
    return ", ".join(random.sample(_LETTERS, random.randint(2, 4)))


def numbers(random: Random) -> str:
    """Cardinals, ordinals, years, times, money, dates and decimals."""
    makers: tuple[Callable[[], str], ...] = (
        lambda: str(random.randrange(100)),
        lambda: f"{random.randrange(1000, 1000000):,}",
        lambda: f"in {random.randrange(1600, 2030)}",
        lambda: f"at {random.randint(1, 12)}:{random.randrange(60):02d}",
        lambda: f"${random.randrange(1, 500)}.{random.randrange(100):02d}",
        lambda: f"{random.choice(_MONTHS)} {random.randint(1, 31)}",
        lambda: f"{random.randrange(100)}.{random.randrange(10)}",
        lambda: f"{random.randrange(1, 100)} percent",
        lambda: f"number {random.randrange(1, 1000)}",
        lambda: f"chapter {random.randrange(1, 60)}",
    )
    return random.choice(makers)()


def lists(words: Sequence[str], random: Random) -> str:
    """Three to five words with commas between them."""
    chosen = random.sample(words, min(random.randint(3, 5), len(words)))
    return ", ".join(chosen[:-1]) + f", {random.choice(('and', 'or'))} {chosen[-1]}"


def dialogue(random: Random) -> str:
    """A reply, a question or a cry, sometimes with a name or with who says it."""
    text, mark = random.choice(
        [(random.choice(_REPLIES), "."), (random.choice(_QUESTIONS), "?"), (random.choice(_CRIES), "!")]
    )
    kind = random.randrange(4)
    if kind == 0:
        return f"{text}, {random.choice(_NAMES)}{mark}"
    if kind == 1:
        return f"{text}, {random.choice(_SAYS)} {random.choice(_NAMES)}."
    if kind == 2:
        return f"{random.choice(_NAMES)}, {text[0].lower() if not text.startswith('I ') else text[0]}{text[1:]}{mark}"
    return text + mark


def short_prompts(texts: Sequence[str], count: int, seed: int = 0) -> list[str]:
    """Return different short utterances, about two in five cut from the texts.

    texts: prompts whose words and phrases are used
    count: how many; fewer come back when the texts hold too little
    """
    random, words = Random(seed), common_words(texts)
    makers: list[Callable[[], str]] = [lambda: letters(random), lambda: numbers(random), lambda: dialogue(random)]
    if texts:
        makers += [lambda: phrases(texts, random)] * 3
    if len(words) >= 5:
        makers += [lambda: lists(words[:3000], random), lambda: random.choice(words[:3000])]
    found: dict[str, None] = {}
    for _ in range(count * 20):
        if len(found) >= count:
            break
        text = random.choice(makers)().strip()
        if text:
            found.setdefault(_finished(text, random))
    return list(found)


def _finished(text: str, random: Random) -> str:
    """Begin with a capital and end with a mark."""
    text = text[0].upper() + text[1:]
    return text if text[-1] in ".?!" else text + random.choice((".", ".", ".", ".", ".", "!", "?"))
