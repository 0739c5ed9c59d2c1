"""The app: `create_app(settings)` puts the parts together."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.middleware.cors import CORSMiddleware

from deepvoice import __version__
from deepvoice.server import extras, page, routes, sockets
from deepvoice.server.engine import Engine, Voices
from deepvoice.server.errors import install_handlers
from deepvoice.server.lexicon import LexiconStore
from deepvoice.server.metrics import Metrics
from deepvoice.server.middleware import Gate, ServerState
from deepvoice.server.schemas import TimedSpeech, Timings
from deepvoice.server.settings import Settings

_METHODS = ("GET", "POST", "PUT", "DELETE", "OPTIONS")
_EXPOSED = ("x-request-id", "x-ignored-fields", "retry-after")


def create_app(settings: Settings | None = None, voices: Voices | None = None) -> FastAPI:
    """Return the app; with no voices given it loads those of the settings when it starts.

    Raises ConfigError for a lexicon that cannot be read, and when it starts VoiceError for a voice that cannot be used.
    """
    settings = settings or Settings()
    state, metrics = ServerState(), Metrics()
    state.set_keys(settings.api_key)
    store = LexiconStore(Path(settings.lexicon) if settings.lexicon else None, settings.max_lexicon)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        engine = Engine(voices or Voices.load(settings.voice), settings, metrics)
        app.state.context = routes.Context(engine, settings, state, store)
        try:
            await engine.warm()
            tidying = asyncio.create_task(engine.give_memory_back())
            async with _wyoming(app.state.context):
                yield
            tidying.cancel()
        finally:
            engine.close()

    app = FastAPI(
        title="deepvoice",
        version=__version__,
        description="Speech from text: OpenAI's speech API, with times, pronunciations and SSML.",
        lifespan=lifespan,
        docs_url=None,  # the documentation pages load scripts from elsewhere
        redoc_url=None,
        swagger_ui_oauth2_redirect_url=None,
    )
    app.state.server = state
    install_handlers(app)
    for part in (routes, extras, sockets, page):
        app.include_router(part.router)
    app.openapi = lambda: _openapi(app, settings)  # type: ignore[method-assign]
    if settings.cors_origin:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(settings.cors_origin),
            allow_methods=list(_METHODS),
            allow_headers=["*"],
            expose_headers=list(_EXPOSED),
        )
    app.add_middleware(Gate, settings=settings, state=state, metrics=metrics)
    return app


def _wyoming(have: routes.Context) -> contextlib.AbstractAsyncContextManager[None]:
    """Return the server of the other protocol; the package for it is loaded only when it is wanted."""
    if not have.settings.wyoming:
        return contextlib.nullcontext()
    from deepvoice.server.home_assistant import wyoming_server

    return wyoming_server(have)


def _openapi(app: FastAPI, settings: Settings) -> dict[str, Any]:
    """Describe the API, with the limits of this server."""
    if app.openapi_schema is None:
        schema = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        components = schema["components"]["schemas"]
        for model in (TimedSpeech, Timings):  # answers that no route declares as its only one
            described = model.model_json_schema(ref_template="#/components/schemas/{model}")
            components.update(described.pop("$defs", {}))
            components[model.__name__] = described
        for name in ("TextRequest", "TimingsRequest", "SpeechRequest"):
            components[name]["properties"]["input"]["maxLength"] = settings.max_characters
        if settings.api_key:
            schema["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
            schema["security"] = [{"key": []}]
        app.openapi_schema = schema
    return app.openapi_schema
