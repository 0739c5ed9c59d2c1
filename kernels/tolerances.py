"""How far the compiled kernels may stray from the numpy reference: the numbers that tests and benchmarks use.

Float32 rounds to 6e-8 of a value; a sum of n products in another order differs by about that times the root of n.
Each entry is the largest allowed |actual - expected| / (1 + |expected|), whichever instruction set runs.
"""

TOLERANCES: dict[str, float] = {
    "tanh": 1e-6,
    "sigmoid": 1e-6,
    "exp": 1e-6,
    "log": 1e-6,
    "dense": 1e-5,
    "conv1d": 1e-5,
    "bfloat16_norm": 8e-3,  # one input of many rounded to the other neighbour: 2^-8 of it
    "gru": 1e-5,  # tanh and sigmoid by approximation, states that feed back
    "qrnn_pool": 2e-6,
    "wavenet_logits": 5e-5,  # through all layers, teacher-forced over many steps
    "wavenet_logits_bfloat16": 2e-2,  # an input near the edge between two numbers may be rounded to the other
    "wavenet_logits_bfloat16_median": 2e-3,
    "wavenet_logits_int8": 5e-2,
    "wavenet_logits_int8_median": 2e-3,
    "wavenet_samples": 1e-5,
    "wavenet_state": 5e-5,
}
