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
        tokenizer: Its tokenizer, which neither pads nor cuts.
    """

    card: dict[str, Any]
    content: bytes
    digest: str
    tokenizer: Any


def read_graph(folder: Path, name: str) -> Graph:
    """Read `<name>.onnx`, `<name>.json` and `tokenizer.json` of a folder.

    Raises:
        EncoderError: If the graph is not the one whose digest the card gives.
        Exception: Whatever is raised when a file is missing or damaged.
    """
    from tokenizers import Tokenizer

    card = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    content = (folder / f"{name}.onnx").read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != card["sha256"]:
        raise EncoderError(
            f"{folder / name}.onnx: its sha256 is {found[:16]}..., not the "
            f"{card['sha256'][:16]}... of {name}.json; install the package again"
        )
    tokenizer: Any = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return Graph(card, content, found, tokenizer)


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
