"""The live page: three files, nothing from elsewhere."""

from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import Response

from deepvoice.server.errors import ApiError

_STATIC = Path(__file__).parent / "static"
_TYPES = {"page.html": "text/html", "page.js": "text/javascript", "page.css": "text/css", "icon.svg": "image/svg+xml"}
_HEADERS = {
    "cache-control": "no-cache",
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "media-src blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "referrer-policy": "no-referrer",
}

router = APIRouter(include_in_schema=False)


@router.get("/")
async def page() -> Response:
    """Return the page."""
    return _file("page.html")


@router.get("/static/{name}")
async def static(name: str) -> Response:
    """Return one of the page's files."""
    return _file(name)


def _file(name: str) -> Response:
    if name not in _TYPES:
        raise ApiError(404, "the page has no such file", code="unknown_url")
    return Response((_STATIC / name).read_bytes(), media_type=_TYPES[name], headers=_HEADERS)
