"""The local judge as it would answer had its encoder never seen a roster."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from eval.data import RequestsError
from router.errors import RouterError
from router.local.encoder import load_encoder
from router.local.index import build_index
from router.local.judge import LocalJudge
from router.pipeline import Router


def read_out_of_fold(path: str | Path) -> dict[str, str]:
    """Folder of the encoder that was trained without each group.

    Args:
        path: A JSON object, group to folder.

    Raises:
        RequestsError: If the file is not that.
    """
    path = Path(path).expanduser()
    try:
        data = json.loads(path.read_bytes())
        return TypeAdapter(dict[str, str]).validate_python(data)
    except OSError as error:
        raise RequestsError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, ValidationError) as error:
        raise RequestsError(
            f"{path}: must be a JSON object, group to folder of an encoder"
        ) from error


def with_encoder(router: Router, folder: str) -> Router:
    """The same router with another encoder of the same training, its index not cached.

    Args:
        router: A router with the local judge.
        folder: The encoder.

    Raises:
        RouterError: If the judge is not the local one, or the encoder cannot be loaded.
    """
    judge = router.judge
    if not isinstance(judge, LocalJudge):
        raise RouterError("only the local judge has an encoder")
    encoder = load_encoder(folder)
    index = build_index(router.roster, encoder)
    other = LocalJudge(router.roster, index, encoder, judge.heads, judge.excerpt)
    return Router(router.roster, other, router.thresholds, router.weights_digest)
