"""Server and key of a model: what can never work is refused when a judge is set up."""

from __future__ import annotations

import re

import httpx2

from router.errors import RouterError

_KEY = re.compile(r"[\x21-\x7e]+")


def require_url(url: str | httpx2.URL, judge: str) -> None:
    """Refuse what is no root of an HTTP server. The message never shows it: it may hold a password.

    Args:
        url: The root.
        judge: Who asks there, for the message.

    Raises:
        RouterError: If it has no host, another scheme than HTTP, or cannot be read.
    """
    try:
        read = httpx2.URL(url)
        # What is no letter of a host name comes back percent-encoded.
        named = bool(read.host) and "%" not in read.host
        good = named and read.scheme in ("http", "https") and (read.port or 1) < 65536
    except (httpx2.InvalidURL, ValueError, TypeError):
        good = False
    if not good:
        raise RouterError(
            f"the {judge} judge's base_url is no root of a server; give one such as "
            "https://models.example.com"
        )


def require_key(key: str, judge: str) -> None:
    """Refuse a key that no HTTP header can carry. The message never shows it.

    Raises:
        RouterError: If it is empty or holds anything but printable ASCII without spaces.
    """
    if not _KEY.fullmatch(key):
        raise RouterError(
            f"the {judge} judge's key must be printable ASCII without spaces or line breaks; copy "
            "it again"
        )
