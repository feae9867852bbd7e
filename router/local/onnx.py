"""Reading an ONNX graph that its card vouches for."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any, NamedTuple

from router.errors import EncoderError


class Graph(NamedTuple):
    """A folder's graph.

    Attributes:
        card: Content of the card.
        content: The graph's bytes.
        digest: Their SHA-256 (hex).
        tokenizer: Bytes of `tokenizer.json` when the card gives its digest; else empty.
    """

    card: dict[str, Any]
    content: bytes
    digest: str
    tokenizer: bytes


def read_graph(folder: Path, name: str) -> Graph:
    """Read `<name>.onnx` and `<name>.json` of a folder.

    The graph is loaded from its bytes, so it cannot draw in other files.

    Raises:
        EncoderError: If graph or tokenizer is not the one whose digest the card gives.
        Exception: Whatever is raised when a file is missing or damaged.
    """
    card = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    content = (folder / f"{name}.onnx").read_bytes()
    found = _vouched(content, card["sha256"], folder / f"{name}.onnx", name)
    words = b""
    if "tokenizer_sha256" in card:  # a pair scorer has none; old exports did not write it down
        words = (folder / "tokenizer.json").read_bytes()
        _vouched(words, card["tokenizer_sha256"], folder / "tokenizer.json", name)
    return Graph(card, content, found, words)


def _vouched(content: bytes, expected: str, file: Path, name: str) -> str:
    """The SHA-256 (hex) of a file's bytes, which must be the one its card gives."""
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        raise EncoderError(
            f"{file}: its sha256 is {found[:16]}..., not the {expected[:16]}... of {name}.json; "
            "install the package again"
        )
    return found


def default_threads() -> int:
    """At most two: the router shares the machine with the agent it serves."""
    return min(2, os.cpu_count() or 1)


def session(graph: bytes, threads: int) -> Any:
    """An inference session on the CPU."""
    # onnxruntime's wheels report usage to its maker unless told not to before the import; a
    # router that promises to be offline must not.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Idle spinning would burn the agent's cores between turns.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
