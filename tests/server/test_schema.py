"""Requests that follow the OpenAPI description, and requests that do not: never a server error, always as described."""

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from deepvoice.server.app import create_app

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
PATHS = create_app().openapi()["paths"]
ROUTES = [(path, method.upper()) for path, item in PATHS.items() for method in item]
# Whatever is asked of a route without a body or a query is right; only the others can be asked wrongly.
CAN_BE_WRONG = [
    (path, method)
    for path, method in ROUTES
    if "requestBody" in (route := PATHS[path][method.lower()])
    or any(parameter["in"] == "query" for parameter in route.get("parameters", ()))
]
few = settings(
    max_examples=10,  # of each mode: 20 a route
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def described(start):
    with start(max_characters=60) as running:
        yield schemathesis.openapi.from_url(f"{running.url}/openapi.json")


def test_the_description_has_every_route(described):
    assert {path for path, _ in ROUTES} == {
        "/health",
        "/metrics",
        "/ready",
        "/version",
        "/v1/audio/speech",
        "/v1/audio/timings",
        "/v1/audio/voices",
        "/v1/lexicon",
        "/v1/lexicon/{word}",
        "/v1/models",
        "/v1/models/{model}",
        "/v1/phonemes",
    }
    assert described.raw_schema["components"]["schemas"]["SpeechRequest"]["properties"]["input"]["maxLength"] == 60
    assert not any(
        "422" in item["responses"] for path in described.raw_schema["paths"].values() for item in path.values()
    )


@pytest.mark.parametrize(("path", "method"), ROUTES)
def test_right_requests(described, path, method):
    answers_as_described(described[path][method], GenerationMode.POSITIVE)


@pytest.mark.parametrize(("path", "method"), CAN_BE_WRONG)
def test_wrong_requests(described, path, method):
    answers_as_described(described[path][method], GenerationMode.NEGATIVE)


def answers_as_described(operation, mode):
    @few
    @given(case=operation.as_strategy(generation_mode=mode))
    def check(case):
        case.call_and_validate(checks=CHECKS)

    check()
