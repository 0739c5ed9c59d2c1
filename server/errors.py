"""Errors as OpenAI's clients expect them: an object with message, type, param and code, whatever went wrong."""

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field, ValidationError
from starlette.exceptions import HTTPException

_SHOWN = 80  # characters of a value that an error repeats
_TYPES = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}


class ErrorDetail(BaseModel):
    """What went wrong; all four keys are always there."""

    message: str
    type: str
    param: str | None
    code: str | None


class ErrorBody(BaseModel):
    """The body of every answer that is not a success."""

    error: ErrorDetail = Field(description="what went wrong")


class ApiError(HTTPException):
    """An answer other than success; handlers raise it before the first byte of audio."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        param: str | None = None,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, message, dict(headers or {}))
        self.status = status
        self.message = message
        self.param = param
        self.code = code

    @property
    def type(self) -> str:
        """The error's class in OpenAI's words."""
        return _TYPES.get(self.status, "invalid_request_error" if self.status < 500 else "server_error")

    def body(self) -> dict[str, Any]:
        """The error object."""
        return {"error": {"message": self.message, "type": self.type, "param": self.param, "code": self.code}}

    def response(self) -> JSONResponse:
        """The error as an answer."""
        return JSONResponse(self.body(), self.status, self.headers)


class BrokenOffError(Exception):
    """An answer that has begun cannot go on: the connection is closed, a clean break and not an end."""


def shown(value: object) -> str:
    """Return a value for a message: short, and printable."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def validation_error(error: RequestValidationError | ValidationError, skip: int = 0) -> ApiError:
    """Return the first thing that is wrong with a request, as one sentence and the name of the field.

    skip: parts of the place that are no fields
    """
    first = error.errors()[0]
    place = [str(part) for part in first["loc"][skip:] if part not in ("body", "query", "path", "header")]
    kind = first["type"]
    if kind == "json_invalid":
        reason = first.get("ctx", {}).get("error", "")
        return ApiError(400, f"the body is not valid JSON: {reason or 'it cannot be read'}", code="invalid_json")
    if not place and first["loc"][:1] == ("body",):
        message = "the body must be a JSON object, sent with Content-Type: application/json"
        return ApiError(400, message, code="invalid_body")
    param = ".".join(part for part in place if part.isidentifier() or part.isdigit())[:_SHOWN] or None
    if kind == "missing":
        return ApiError(400, f"the field {param!r} is required", param=param, code="missing_required_parameter")
    message = first["msg"].removeprefix("Value error, ")
    if kind != "value_error":
        given = first.get("input")
        found = "" if isinstance(given, (dict, list)) or kind == "string_too_long" else f" (found {shown(given)})"
        where = f"{param}: " if param else ""
        message = f"{where}{message[0].lower()}{message[1:]}{found}"
    return ApiError(400, message, param=param, code="invalid_value")


def http_error(error: HTTPException, request: Request) -> ApiError:
    """Return the framework's own errors (unknown route, wrong method, unreadable body) in our shape."""
    headers = error.headers or {}
    if error.status_code == 404:
        return ApiError(404, f"there is nothing at {shown(request.url.path)}", code="unknown_url", headers=headers)
    if error.status_code == 405:
        message = f"{request.method} is not possible at {shown(request.url.path)}; see the Allow header"
        return ApiError(405, message, code="method_not_allowed", headers=headers)
    if error.status_code == 400:
        return ApiError(400, "the body cannot be read as JSON", code="invalid_json", headers=headers)
    return ApiError(error.status_code, str(error.detail), headers=headers)


def install_handlers(app: FastAPI) -> None:
    """Make every error of the app an error object. What is unforeseen is handled by the outermost middleware."""

    async def on_api_error(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, ApiError)
        return error.response()

    async def on_validation_error(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        return validation_error(error).response()

    async def on_http_error(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        return http_error(error, request).response()

    app.add_exception_handler(ApiError, on_api_error)
    app.add_exception_handler(RequestValidationError, on_validation_error)
    app.add_exception_handler(HTTPException, on_http_error)
