"""Stage outputs on disk: collected once, swept as often as one likes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from eval.data import LabelledTurn
from eval.files import write_whole
from eval.tune.stages import StageOutputs, TuneError
from roster.text import field_path

FORMAT = 1
"""Raised when the meaning of the file changes: other formats are not read."""

Score = Annotated[float, Field(ge=-1.0, le=1.0)]


class _Stored(BaseModel):
    """The file. Scores are in the order of the wide rank; -1 pads."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int
    roster_digest: str
    weights_digest: str
    requests_digest: str
    excerpts: tuple[int, ...] = Field(min_length=1)
    excerpt_matters: bool
    need: list[Annotated[float, Field(ge=0.0, le=1.0)]]
    names: list[tuple[str, ...]]
    fits: list[list[list[Score]]]
    choice: list[list[list[Score]]]


def write_outputs(outputs: StageOutputs, path: str | Path) -> Path:
    """Write stage outputs as JSON, whole or not at all.

    Raises:
        OutputError: If the file cannot be written.
    """
    stored = _Stored(
        format=FORMAT,
        roster_digest=outputs.roster_digest,
        weights_digest=outputs.weights_digest,
        requests_digest=outputs.requests_digest,
        excerpts=outputs.excerpts,
        excerpt_matters=outputs.excerpt_matters,
        need=outputs.need.tolist(),
        names=list(outputs.names),
        fits=outputs.fits.tolist(),
        choice=outputs.choice.tolist(),
    )
    return write_whole(path, stored.model_dump_json() + "\n")


def read_outputs(path: str | Path, turns: Sequence[LabelledTurn]) -> StageOutputs:
    """Read stage outputs of these turns.

    Args:
        path: A file `write_outputs` made.
        turns: The labelled turns it was made for; it holds no text of theirs.

    Raises:
        TuneError: If the file cannot be read, is damaged, or belongs to other requests.
    """
    path = Path(path).expanduser()
    try:
        stored = _Stored.model_validate(json.loads(path.read_bytes()))
    except OSError as error:
        raise TuneError(f"{path}: cannot be read ({error.strerror})") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = field_path(first["loc"]) or "the file"
        raise TuneError(f"{path}: {where}: {first['msg']}; {_AGAIN}") from error
    except (ValueError, RecursionError) as error:
        raise TuneError(f"{path}: is not JSON ({error}); {_AGAIN}") from error
    if stored.format != FORMAT:
        raise TuneError(f"{path}: has format {stored.format}, not {FORMAT}; {_AGAIN}")
    outputs = _as_outputs(stored, turns)
    if outputs is None:
        raise TuneError(f"{path}: its parts do not belong together; {_AGAIN}")
    if stored.requests_digest != outputs.requests_digest:
        raise TuneError(f"{path}: holds the stage outputs of other requests; {_AGAIN}")
    return outputs


_AGAIN = "remove it, and the stage outputs are collected again"


def _as_outputs(stored: _Stored, turns: Sequence[LabelledTurn]) -> StageOutputs | None:
    try:
        fits, choice = np.array(stored.fits, dtype=float), np.array(stored.choice, dtype=float)
    except ValueError:  # ragged
        return None
    layers, count = len(stored.excerpts), len(stored.need)
    shaped = fits.ndim == 3 and fits.shape == choice.shape and fits.shape[:2] == (layers, count)
    if not shaped or len(turns) != count or len(stored.names) != count:
        return None
    if any(len(names) > fits.shape[2] or not names for names in stored.names):
        return None
    return StageOutputs(
        turns=tuple(turns),
        need=np.array(stored.need, dtype=float),
        fits=fits,
        choice=choice,
        right=np.array(
            [
                names.index(turn.gold) if turn.gold in names else -1
                for names, turn in zip(stored.names, turns, strict=True)
            ],
            dtype=np.int64,
        ),
        names=tuple(stored.names),
        excerpts=stored.excerpts,
        excerpt_matters=stored.excerpt_matters,
        roster_digest=stored.roster_digest,
        weights_digest=stored.weights_digest,
    )
