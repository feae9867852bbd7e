"""How a service is set up."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator


class ServiceConfig(BaseModel):
    """Addresses and limits of a service.

    Attributes:
        socket: Path of a Unix socket to listen on, or None.
        host: Address for TCP.
        port: TCP port, 0 for any free one; None does not listen on TCP.
        token: What a TCP client must send as ``Authorization: Bearer``; 16 characters or more.
            Needed unless the host is a loopback address.
        allowed_roots: Folders below which TCP clients may name rosters. The owner of the Unix
            socket may name any folder.
        hosts: Further names by which TCP clients may address this service (header ``Host``).
        idle_s: Seconds without a request after which the service leaves; 0 stays.
        max_body: Largest body of a request, in bytes.
        max_inflight: Suggestions waiting or being worked on; one more is answered with 429.
        max_connections: Open connections; one more is answered with 429 and closed.
        body_s: Seconds a client has to send a whole request.
        answer_s: Seconds within which a request is answered, if only with 503.
        drain_s: Seconds that requests in work have to finish once the service is told to leave.
        workers: Threads that route.
        max_batch: Most turns one thread takes at a time.
        max_rosters: Rosters kept ready; the one that was not asked for longest goes first.
        watch_s: Seconds between looks at the skill folders; 0 does not watch.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    socket: Path | None = None
    host: str = "127.0.0.1"
    port: int | None = Field(default=None, ge=0, le=65_535)
    token: SecretStr | None = Field(default=None, min_length=16, max_length=512)
    allowed_roots: tuple[Path, ...] = ()
    hosts: tuple[str, ...] = ()
    idle_s: float = Field(default=0.0, ge=0.0)
    max_body: int = Field(default=1 << 20, ge=1_024, le=1 << 28)
    max_inflight: int = Field(default=64, ge=1, le=10_000)
    max_connections: int = Field(default=256, ge=1, le=10_000)
    body_s: float = Field(default=5.0, gt=0.0)
    answer_s: float = Field(default=10.0, gt=0.0)
    drain_s: float = Field(default=10.0, gt=0.0)
    workers: int = Field(default=2, ge=1, le=64)
    max_batch: int = Field(default=8, ge=1, le=256)
    max_rosters: int = Field(default=8, ge=1, le=1_000)
    watch_s: float = Field(default=1.0, ge=0.0)

    @field_validator("token")
    @classmethod
    def _fits_a_header(cls, token: SecretStr | None) -> SecretStr | None:
        if token is not None and not re.fullmatch(r"[!-~]+", token.get_secret_value()):
            raise ValueError("the token may hold letters, digits and signs of ASCII, no spaces")
        return token

    @model_validator(mode="after")
    def _reachable_and_safe(self) -> Self:
        if self.socket is None and self.port is None:
            raise ValueError("the service listens nowhere; give a socket or a port")
        if self.port is not None and self.token is None and not is_loopback(self.host):
            raise ValueError(
                f"{self.host} can be reached from other machines, so a token is required; "
                "set SKILL_ROUTER_TOKEN, or give --token-file"
            )
        return self


class DecisionLogConfig(BaseModel):
    """What is written down about every decision.

    Attributes:
        path: The file; JSON, one object a line.
        requests: How the user's words are kept: ``text``, ``hash`` (SHA-256) or ``none``.
        max_bytes: Size after which the file is rotated.
        keep: Rotated files that are kept.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: Path
    requests: Literal["text", "hash", "none"] = "hash"
    max_bytes: int = Field(default=10 << 20, ge=1_024)
    keep: int = Field(default=5, ge=1, le=1_000)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
