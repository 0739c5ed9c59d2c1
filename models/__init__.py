"""The networks, one file each, in torch: training only.

Dimension key of the shape suffixes, used everywhere: B batch, G graphemes, P phones, F conditioning frames, T samples,
N steps of the vocoder, C channels, R residual, S skip, A amplitude levels, L layers, K taps, M mel bands, X features.
"""
