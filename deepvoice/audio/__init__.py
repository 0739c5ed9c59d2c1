"""Signal processing that both halves share: spectra, linear prediction, companding, pulses, files."""
