"""The local judge as it would answer had it never seen a roster."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from eval.data import RequestsError
from roster import Roster
from router.errors import RouterError
from router.local.encoder import load_encoder
from router.local.heads import Heads
from router.local.pair_scorer import load_pair_scorer
from router.pipeline import Router


def read_out_of_fold(path: str | Path) -> dict[str, str]:
    """Folder of the model that was trained without each group.

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
    except (ValueError, ValidationError, RecursionError) as error:
        raise RequestsError(f"{path}: must be a JSON object, group to folder of a model") from error


def unseen(
    roster: Roster,
    heads: Heads,
    encoder: str | None = None,
    scorer: str | None = None,
    *,
    reranker: str | None = None,
    thresholds: str | None = None,
    cache: str | None = None,
) -> Router:
    """A router with other models of the same training than the heads were learned with.

    Args:
        roster: The roster.
        heads: The heads; learned without the roster, if it is to be unseen.
        encoder: Name or folder of the encoder; None for the shipped one.
        scorer: Folder of a pair scorer of the same training as the one the heads were learned
            with; None for that one itself.
        reranker: Name of the pair scorer the heads were learned with, see `pair_reread`; "none"
            rereads without.
        thresholds: A TOML file; None for the defaults of the heads.
        cache: Folder of the index cache.

    Raises:
        RouterError: If a model or a file cannot be used.
    """
    loaded = load_encoder(encoder)
    swapped = {"encoder": loaded.name, "encoder_digest": loaded.digest}
    learned = heads.model_copy(update=swapped)
    if scorer is None:
        return Router.load(
            roster, encoder=loaded, heads=learned, reranker=reranker, thresholds=thresholds,
            cache=cache,
        )  # fmt: skip
    if learned.reread is None:
        raise RouterError("the heads were learned without a pair scorer; leave it out")
    pairs = load_pair_scorer(scorer)
    same = {"scorer": pairs.name, "scorer_digest": pairs.digest}
    reread = learned.reread.model_copy(update=same)
    return Router.load(
        roster,
        encoder=loaded,
        heads=learned.model_copy(update={"reread": reread}),
        reranker=pairs,
        thresholds=thresholds,
        cache=cache,
    )
