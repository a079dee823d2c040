"""An object store on loopback (moto's), which can be told to misbehave."""

from __future__ import annotations

import logging
import threading
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from moto.moto_server.werkzeug_app import create_backend_app
from werkzeug.serving import make_server

NAME = "tests"
Refusal = tuple[str, str]
"""A status line and the code that the store gives for it."""


class BucketServer:
    """``overwrites`` makes it ignore If-None-Match, ``refuse`` refuses requests by method and path,
    ``before`` is called before each request with its method and path.
    """

    def __init__(self) -> None:
        self.overwrites = False
        self.refuse: Callable[[str, str], Refusal | None] = lambda method, path: None
        self.before: Callable[[str, str], None] = lambda method, path: None
        self.requests: list[tuple[str, str]] = []
        self._app = create_backend_app("s3")
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self._server = make_server("127.0.0.1", 0, self._answer, threaded=True)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self.create_bucket(NAME)

    def _answer(self, environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        self.requests.append((method, path))
        self.before(method, path)
        refusal = self.refuse(method, path)
        if refusal is not None:
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            start(refusal[0], [("Content-Type", "application/xml")])
            return [f"<Error><Code>{refusal[1]}</Code><Message>told to</Message></Error>".encode()]
        if self.overwrites:
            environ.pop("HTTP_IF_NONE_MATCH", None)
        return self._app(environ, start)

    def create_bucket(self, name: str) -> None:
        urllib.request.urlopen(urllib.request.Request(f"{self.url}/{name}", method="PUT")).close()

    def reset(self) -> None:
        self.overwrites = False
        self.refuse = lambda method, path: None
        self.before = lambda method, path: None
        self.requests.clear()

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs to find it."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "tests",
            "AWS_SECRET_ACCESS_KEY": "tests",
            "AWS_REGION": "us-east-1",
        }


@contextmanager
def bucket_server() -> Iterator[BucketServer]:
    server = BucketServer()
    try:
        yield server
    finally:
        server.stop()
