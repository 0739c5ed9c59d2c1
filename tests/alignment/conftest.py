"""The aligner of the package, which most tests share."""

import pytest

from deepvoice.alignment import Aligner


@pytest.fixture(scope="session")
def aligner():
    """The aligner of the package."""
    return Aligner.load()
