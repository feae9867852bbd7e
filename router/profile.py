"""A profile: everything that decides how the router answers, as one immutable record."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from roster import Roster
from roster.store import ListedFile, Staging, Store, StoreError, Versioned, default_path
from router.block import BlockTemplate
from router.errors import RouterError
from router.local.heads import Heads
from router.local.pair_reread import pair_reread
from router.thresholds import Thresholds


class Profile(Versioned):
    """Thresholds, weights and block template, bound to a roster and to labelled requests.

    Attributes:
        thresholds: When the router stays silent.
        encoder_digest: Digest of the encoder the weights were learned with.
        weights_digest: Digest of the learned numbers; the one listed file.
        template: Wording of the block.
        roster_digest: The roster it was evaluated on; it is used with no other.
        requests_digest: The labelled requests it is evaluated on.
        files: The learned numbers.
    """

    kind: ClassVar[str] = "profile"

    thresholds: Thresholds
    encoder_digest: str
    weights_digest: str
    template: BlockTemplate
    roster_digest: str
    requests_digest: str
    files: Annotated[tuple[ListedFile, ...], Field(min_length=1, max_length=1, strict=False)]


class LoadedProfile(BaseModel):
    """A profile with its learned numbers.

    Attributes:
        profile: The record.
        heads: The learned numbers.
    """

    model_config = ConfigDict(frozen=True)

    profile: Profile
    heads: Heads


def make_profile(
    name: str,
    version: str,
    *,
    roster: Roster,
    requests_digest: str,
    heads: bytes,
    thresholds: Thresholds | None = None,
    template: BlockTemplate | None = None,
) -> Staging:
    """A profile that can be staged.

    Args:
        name: Its name.
        version: Its label.
        roster: The roster it is for.
        requests_digest: Digest of the labelled requests it is evaluated on.
        heads: A heads file, as bytes.
        thresholds: By default those of the heads.
        template: By default the measured one.

    Raises:
        RouterError: If the heads are no heads file, or name or version cannot be used.
    """
    learned = Heads.from_bytes(heads, "the heads file")
    if thresholds is None:
        thresholds = Thresholds.model_validate((pair_reread(learned) or learned).thresholds)
    bound = {
        "roster_digest": roster.digest,
        "weights_digest": learned.digest,
        "requests_digest": requests_digest,
    }
    try:
        record = Profile(
            name=name,
            version=version,
            thresholds=thresholds.model_copy(update=bound),
            encoder_digest=learned.encoder_digest,
            template=template or BlockTemplate(),
            files=(ListedFile(path="heads.json", sha256=learned.digest, size=len(heads)),),
            **bound,
        )
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = str(first["loc"][0])
        raise RouterError(
            f"the profile {name!r} {version!r} cannot be made: {field}: {first['msg']}"
        ) from error
    return Staging(record=record, source_sha256=record.digest, data={learned.digest: heads})


def load_profile(which: str, roster: Roster, store: str | Path | None = None) -> LoadedProfile:
    """The profile a router is to use.

    Args:
        which: "active" for the active profile of this roster, or the name of an active profile.
        roster: The roster.
        store: The store; by default the user's.

    Raises:
        RouterError: If there is no such profile, several, or it is bound to another roster.
    """
    try:
        with Store(store or default_path(), create=False) as opened:
            rows = opened.snapshot().of(Profile.kind)
            profiles = [row.record(Profile) for row in rows]
            profile = _chosen(profiles, which, roster, opened.path)
            heads = Heads.from_bytes(
                opened.file(profile.weights_digest), f"{opened.path}: {profile.name}"
            )
    except StoreError as error:
        raise RouterError(str(error)) from error
    return LoadedProfile(profile=profile, heads=heads)


def _chosen(profiles: Sequence[Profile], which: str, roster: Roster, path: str) -> Profile:
    if which == "active":
        found = [p for p in profiles if p.roster_digest == roster.digest]
        if len(found) > 1:
            names = ", ".join(p.name for p in found)
            raise RouterError(f"{path}: several profiles are active for this roster ({names}); "
                              "load one of them by its name")  # fmt: skip
    else:
        found = [p for p in profiles if p.name == which]
    if not found:
        active = ", ".join(f"{p.name} {p.version}" for p in profiles) or "none"
        raise RouterError(
            f"{path}: no profile {which!r} is active for this roster (active: {active}); stage and "
            "activate one with skill-router profiles"
        )
    if found[0].roster_digest != roster.digest:
        raise RouterError(
            f"{path}: the profile {which!r} was evaluated on another roster "
            f"({found[0].roster_digest[:12]}, not {roster.digest[:12]}); stage and activate one "
            "for this roster"
        )
    return found[0]
