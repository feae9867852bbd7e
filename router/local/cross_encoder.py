"""Any sentence-transformers CrossEncoder as a pair scorer (extra `train`)."""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from router.errors import EncoderError
from router.local.pair_text import PairInput

_MOST_TOKENS = 256
_BATCH = 16


class CrossEncoderScorer:
    """A CrossEncoder with one output; what it gives before its activation is the logit.

    Args:
        name: A local folder, or a name on the model hub. A local folder is loaded without asking
            the hub.

    Raises:
        EncoderError: If the model cannot be loaded, or has more than one output.
    """

    def __init__(self, name: str) -> None:
        folder = Path(name).expanduser()
        local = folder.is_dir()
        if local:
            os.environ.setdefault("HF_HUB_OFFLINE", "1")
        from sentence_transformers import CrossEncoder
        from torch import nn

        try:
            self._model: Any = CrossEncoder(
                str(folder) if local else name,
                device="cpu",
                local_files_only=local,
                model_kwargs={"use_safetensors": True},  # never a pickle
            )
            outputs = int(self._model.config.num_labels)
        except Exception as error:  # the loader raises whatever its backends raise
            raise EncoderError(
                f"the reranker {name!r} cannot be loaded ({error}); give a folder that holds a "
                "sentence-transformers CrossEncoder, or a hub name that this machine can reach"
            ) from error
        if outputs != 1:
            raise EncoderError(
                f"the reranker {name!r} has {outputs} outputs; a reranker gives one score a pair"
            )
        self.name = name
        self.token_dimension: int | None = None
        limit = int(self._model.max_seq_length or _MOST_TOKENS)
        self._model.max_seq_length = min(limit, _MOST_TOKENS)
        state = hashlib.sha256()
        for key, value in sorted(self._model.model.state_dict().items()):
            state.update(key.encode())
            state.update(value.detach().cpu().contiguous().float().numpy().tobytes())
        self.digest = state.hexdigest()
        self._identity = nn.Identity()
        self._lock = threading.Lock()

    def score(self, pairs: PairInput) -> NDArray[np.float32]:
        """Score the texts; see `PairScorer.score`. The model's own activation is left out."""
        if not pairs.texts:
            return np.zeros(0, dtype=np.float32)
        with self._lock:
            scores = self._model.predict(
                [[pairs.request, text] for text in pairs.texts],
                batch_size=_BATCH,
                show_progress_bar=False,
                activation_fn=self._identity,
            )
        return np.asarray(scores, dtype=np.float32).reshape(len(pairs.texts))
