"""What a model may propose, how its reply is read, and what happens when it is not usable.

Everything a model writes is advice. It is parsed strictly, bound to the skills it was asked about,
repaired within a budget, and refused for good when it names what the turn does not permit.
"""

from router.proposals.bounds import Bounds
from router.proposals.errors import (
    ForbiddenProposal,
    MalformedReply,
    ProposalError,
    ProviderTimeout,
)
from router.proposals.parse import parse_strict
from router.proposals.records import Attempt, Report, Status
from router.proposals.session import Call, Limits, Reply, Session
from router.proposals.shapes import WideProposal, read_reread, read_wide

__all__ = [
    "Attempt",
    "Bounds",
    "Call",
    "ForbiddenProposal",
    "Limits",
    "MalformedReply",
    "ProposalError",
    "ProviderTimeout",
    "Reply",
    "Report",
    "Session",
    "Status",
    "WideProposal",
    "parse_strict",
    "read_reread",
    "read_wide",
]
