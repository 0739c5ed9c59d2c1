"""The errors that the package raises, one hierarchy with `DeepVoiceError` at its root."""


class DeepVoiceError(Exception):
    """Base of every error that the package raises on purpose."""


class TextError(DeepVoiceError):
    """The text cannot be spoken (empty, or nothing speakable in it)."""


class VoiceError(DeepVoiceError):
    """A voice folder is missing, damaged, or made for another version."""


class AudioError(DeepVoiceError):
    """Audio cannot be written or read."""


class KernelUnavailableError(DeepVoiceError):
    """A kernel backend was named that this installation or machine does not have."""


class ConfigError(DeepVoiceError):
    """A configuration has unknown keys, wrong types or values outside their limits."""


class TrainingError(DeepVoiceError):
    """Training cannot begin or go on (data, checkpoint, gradients, or another process of the run)."""
