"""These tests have an object store on loopback."""

from tests.support.bucket_fixtures import running_server, server, url

__all__ = ["running_server", "server", "url"]
