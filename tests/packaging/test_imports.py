"""What importing and speaking load, and that neither needs the network (bug case I1)."""

import pytest

FORBIDDEN = (
    "torch",
    "librosa",
    "fastapi",
    "uvicorn",
    "g2p_en",
    "nltk",
    "scipy",
    "onnxruntime",
    "hibari_tts",
    "matplotlib",
)
BLOCK = """
import socket
def refuse(*_, **__):
    raise OSError("no network here")
socket.socket = socket.create_connection = socket.getaddrinfo = refuse
"""


def loaded_by(run_python, code):
    """Run code in a fresh Python and return the names of the modules it loaded."""
    result = run_python("-c", f"{BLOCK}\n{code}\nimport sys\nprint(*sys.modules)")
    assert result.returncode == 0, result.stderr.decode()
    return set(result.stdout.decode().split())


def test_importing_the_package_loads_next_to_nothing(run_python):
    modules = loaded_by(run_python, "import deepvoice; deepvoice.__version__")
    ours = {name for name in modules if name.startswith("deepvoice")}
    assert ours == {"deepvoice", "deepvoice.errors"}
    assert "numpy" not in modules and "soundfile" not in modules


def test_speaking_loads_no_training_tools_and_no_network(run_python, tiny_voice, tmp_path):
    arguments = ["say", "Two cats.", "-q", "--voice", str(tiny_voice), "-o", str(tmp_path / "a.wav")]
    modules = loaded_by(run_python, f"from deepvoice.cli import main\nassert main({arguments!r}) == 0")
    assert (tmp_path / "a.wav").stat().st_size > 44
    assert not {name for name in modules if name.split(".")[0] in FORBIDDEN}
    assert not {
        name for name in modules if name.startswith(("deepvoice.models", "deepvoice.recipes", "deepvoice.server"))
    }
    assert "soundfile" not in modules  # a wav needs no encoder


def test_usage_needs_no_numpy(run_python):
    modules = loaded_by(run_python, "from deepvoice.cli import main\nassert main(['say', '--help']) == 0")
    assert "numpy" not in modules


@pytest.mark.parametrize(
    "name",
    ["Alignment", "Voice", "SpeechStream", "Speech", "Word", "Phone", "Report", "TextOptions", "UserLexicon", "align"],
)
def test_lazy_names(name):
    import deepvoice

    assert getattr(deepvoice, name).__name__ == name
    assert name in dir(deepvoice)


def test_unknown_names_list_the_known_ones():
    import deepvoice

    with pytest.raises(AttributeError, match="it has Alignment, AudioError"):
        _ = deepvoice.Synthesizer


def test_the_public_names_are_pinned():
    import deepvoice

    assert set(deepvoice.__all__) == {
        "Alignment", "AudioError", "ConfigError", "DeepVoiceError", "KernelUnavailableError", "Phone", "Report",
        "Speech", "SpeechStream", "SpokenMark", "SpokenSentence", "TextError", "TextOptions", "UserLexicon", "Voice",
        "VoiceError", "Word", "__version__", "align", "load",
    }  # fmt: skip
    for name in ("AudioError", "ConfigError", "KernelUnavailableError", "TextError", "VoiceError"):
        assert issubclass(getattr(deepvoice, name), deepvoice.DeepVoiceError)
