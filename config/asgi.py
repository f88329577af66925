"""The service under ASGI: what streams answers, and everything else besides."""

import asyncio
import os
from typing import Any

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.embedded")

answer = get_asgi_application()


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """A process is ready once it has loaded what its first question would wait for."""
    if scope["type"] != "lifespan":
        await answer(scope, receive, send)
        return
    from config.preloading import load_all

    await receive()  # startup
    await asyncio.to_thread(load_all)
    await send({"type": "lifespan.startup.complete"})
    await receive()  # shutdown
    await send({"type": "lifespan.shutdown.complete"})
