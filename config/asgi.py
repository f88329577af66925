"""The ASGI application; it preloads models and pipelines at startup."""

import asyncio
import os
from typing import Any

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.embedded")

django_application = get_asgi_application()


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Preload everything at lifespan startup; pass all other scopes to Django."""
    if scope["type"] != "lifespan":
        await django_application(scope, receive, send)
        return
    from config.preloading import preload_all

    await receive()  # startup
    await asyncio.to_thread(preload_all)
    await send({"type": "lifespan.startup.complete"})
    await receive()  # shutdown
    await send({"type": "lifespan.shutdown.complete"})
