"""Recipe of the vocoder: conditioner, predicted spectra, WaveNet, evaluation."""
