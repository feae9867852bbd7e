"""The decision log: one JSON object a line, rotated, off by default."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Callable
from datetime import UTC, datetime
from logging.handlers import QueueHandler, QueueListener, RotatingFileHandler
from queue import SimpleQueue
from typing import IO, Any

from router.errors import RouterError
from router.service.config import DecisionLogConfig
from router.suggestion import Suggestion


class _PrivateFile(RotatingFileHandler):
    """A rotating file that only its owner reads, and that never stops the service."""

    def __init__(self, config: DecisionLogConfig, on_failure: Callable[[], None]) -> None:
        self._on_failure = on_failure
        super().__init__(
            config.path, maxBytes=config.max_bytes, backupCount=config.keep, encoding="utf-8"
        )

    def _open(self) -> IO[Any]:  # type: ignore[override]
        return open(
            self.baseFilename,
            self.mode,
            encoding=self.encoding,
            opener=lambda path, flags: os.open(path, flags, 0o600),
        )

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Count what could not be written, on a full disk for example."""
        self._on_failure()


class DecisionLog:
    """Writes decisions to a file, on a thread of its own.

    Args:
        config: File, rotation, and how requests are kept.
        on_failure: Told about every decision that could not be written.

    Raises:
        RouterError: If the file cannot be opened.
    """

    def __init__(self, config: DecisionLogConfig, on_failure: Callable[[], None]) -> None:
        self._requests = config.requests
        try:
            handler = _PrivateFile(config, on_failure)
        except OSError as error:
            raise RouterError(
                f"{config.path}: the decision log cannot be opened ({error.strerror}); give "
                "another file"
            ) from error
        queue: SimpleQueue[logging.LogRecord] = SimpleQueue()
        self._queue = QueueHandler(queue)
        self._listener = QueueListener(queue, handler)
        self._handler = handler
        self._listener.start()

    def write(
        self,
        suggestion: Suggestion,
        request: str,
        session: str | None,
        queue_ms: float,
    ) -> None:
        """Note a decision.

        Args:
            suggestion: What was decided.
            request: The user's words; kept as the configuration says.
            session: Names the conversation, or None.
            queue_ms: Milliseconds the turn waited.
        """
        record: dict[str, Any] = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "session": session,
            "name": suggestion.name,
            "reason": suggestion.reason.value,
            "need": None if suggestion.gate is None else round(suggestion.gate.need, 4),
            "ranked": [[name, round(p, 4)] for name, p in suggestion.ranking.entries[:3]],
            "fits": {}
            if suggestion.reread is None
            else {name: round(fit, 4) for name, fit in suggestion.reread.fits.items()},
            "roster": suggestion.roster_digest,
            "thresholds": suggestion.thresholds_digest,
            "weights": suggestion.weights_digest,
            "queue_ms": round(queue_ms, 3),
            "elapsed_ms": suggestion.elapsed_ms.get("total"),
        }
        if self._requests == "text":
            record["request"] = request
        elif self._requests == "hash":
            data = request.encode("utf-8", "surrogatepass")
            record["request_sha256"] = hashlib.sha256(data).hexdigest()
        line = json.dumps(record, ensure_ascii=True)
        self._queue.emit(logging.LogRecord("decisions", logging.INFO, "", 0, line, None, None))

    def close(self) -> None:
        """Write what is left and close the file."""
        self._listener.stop()
        self._handler.close()
