"""The sockets a service listens on, and the lock that makes it the only one."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
from pathlib import Path

from router.errors import RouterError
from router.service.config import ServiceConfig


def bind(config: ServiceConfig) -> list[socket.socket]:
    """Listening sockets for a configuration.

    Raises:
        RouterError: If an address is taken or cannot be used.
    """
    bound: list[socket.socket] = []
    try:
        if config.socket is not None:
            bound.append(_unix(config.socket))
        if config.port is not None:
            bound.append(_tcp(config.host, config.port))
    except BaseException:
        for one in bound:
            one.close()
        raise
    return bound


def _unix(path: Path) -> socket.socket:
    """A Unix socket that only its owner may open."""
    if not hasattr(socket, "AF_UNIX"):
        raise RouterError("this system has no Unix sockets; give --port")
    if len(os.fsencode(path)) > 103:
        raise RouterError(f"{path}: is too long for a socket's path; give a shorter one")
    _remove_stale(path)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # The mode is there from the first moment: set later, it would leave a gap.
    before = os.umask(0o177)
    try:
        listening.bind(str(path))
    except OSError as error:
        listening.close()
        raise RouterError(
            f"{path}: cannot be listened on ({error.strerror}); give another --socket"
        ) from error
    finally:
        os.umask(before)
    path.chmod(0o600)
    listening.listen(1024)
    return listening


def _remove_stale(path: Path) -> None:
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise RouterError(f"{path}: is there and is no socket; give another --socket")
    except FileNotFoundError:
        return
    except OSError as error:
        raise RouterError(f"{path}: cannot be used ({error.strerror})") from error
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            path.unlink(missing_ok=True)
        except OSError as error:
            raise RouterError(f"{path}: cannot be used ({error})") from error
        else:
            raise RouterError(f"{path}: a service listens there already")


def _tcp(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(1024)
    except OSError as error:
        raise RouterError(
            f"{host}:{port}: cannot be listened on ({error.strerror or error}); give another port"
        ) from error
    return listening


class OnlyOne:
    """The lock that a service on the default socket holds as long as it lives.

    Args:
        path: The lock file.
        inherited: The open file of a lock that was taken by whoever started this process.

    Raises:
        RouterError: If another service holds it.
    """

    def __init__(self, path: str, inherited: int | None = None) -> None:
        import fcntl

        if inherited is None:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        else:
            self._file = inherited
            os.set_inheritable(inherited, False)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise RouterError(
                f"a service of yours runs already ({path} is locked); stop it, or give --port or "
                "--socket for another one"
            ) from error
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    def left_in_order(self) -> None:
        """Note that the service leaves as it should: the next one may start at once."""
        with contextlib.suppress(OSError):
            os.ftruncate(self._file, 0)
            os.close(self._file)
