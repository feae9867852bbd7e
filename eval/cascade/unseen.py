"""The local judge as it would answer had it never seen a roster."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from eval.data import RequestsError
from router.errors import RouterError
from router.local.encoder import load_encoder
from router.local.heads import Heads
from router.local.index import build_index
from router.local.judge import LocalJudge
from router.local.pair_reread import PairReread, pair_reread
from router.local.pair_scorer import load_pair_scorer
from router.local.scripts import as_read
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
    router: Router,
    encoder: str | None = None,
    scorer: str | None = None,
    heads: str | None = None,
    reranker: str | None = None,
) -> Router:
    """The same router with other models of the same training, its index not cached.

    Args:
        router: A router with the local judge.
        encoder: Name or folder of the encoder; None for the shipped one.
        scorer: Folder of a pair scorer of the same training as the one the heads were learned
            with; None for that one itself.
        heads: File of heads that were learned without the roster; None for the router's own.
        reranker: Name of the pair scorer the heads were learned with, see `pair_reread`; "none"
            rereads without.

    Raises:
        RouterError: If the judge is not the local one, or a model cannot be loaded.
    """
    judge = router.judge
    if not isinstance(judge, LocalJudge):
        raise RouterError("only the local judge has an encoder")
    loaded = load_encoder(encoder)
    learned = judge.heads if heads is None else Heads.from_file(heads)
    index = build_index(as_read(router.eligible, loaded), loaded)
    if scorer is None:
        reread = pair_reread(learned, reranker)
    elif learned.reread is None:
        raise RouterError("the heads were learned without a pair scorer; leave it out")
    else:
        reread = PairReread(load_pair_scorer(scorer), learned.reread)
    other = LocalJudge(router.eligible, index, loaded, learned, judge.excerpt, reread=reread)
    return Router(router.roster, other, router.thresholds, router.weights_digest)
