"""Twenty sentences of usual lengths, for timing."""

SENTENCES = (
    "The ferry leaves at dawn, and nobody on the pier knows where it goes.",
    "She folded the letter twice and put it back into the blue envelope.",
    "If the weather holds, we should reach the northern lighthouse before the tide turns.",
    "Most of the bread is baked during the night, while the rest of the town is asleep.",
    "He asked for a receipt.",
    "The museum keeps its oldest maps in a long, cool room without any windows.",
    "Nobody had expected the river to rise so quickly after only two days of rain.",
    "Are you sure that this is the right train?",
    "A good carpenter measures the board three times before reaching for the saw.",
    "The children counted forty swallows on the wire above the schoolyard.",
    "Turn left at the old mill, follow the wall for a mile, and look for the white gate.",
    "Her grandfather repaired clocks, and his workshop ticked like a field of crickets.",
    "It was the coldest morning of the year, yet the market opened at seven as usual.",
    "Please leave the keys with the neighbour across the hall.",
    "What surprised the engineers was how little energy the new pump needed.",
    "The orchestra tuned for a long time, then the lights went down and the hall grew still.",
    "Two of the bridges were closed for repairs, so the whole city seemed to be walking.",
    "We planted beans along the fence and pumpkins wherever there was room.",
    "The last page of the diary is missing, which has kept historians busy for a century.",
    "By evening the fog had lifted, and the islands stood out clearly against the sky.",
)
