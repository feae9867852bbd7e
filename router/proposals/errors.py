"""Why a proposal was not admitted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from router.proposals.records import Report
    from router.usage import Usage


class MalformedReply(Exception):  # noqa: N818 - an answer of the reader, not a failure of the program
    """A reply that cannot be read; another attempt may mend it. The text names the fault."""


class ForbiddenProposal(Exception):  # noqa: N818 - as above
    """A readable reply that names what the turn does not permit; no other attempt is made."""


class ProviderTimeout(Exception):  # noqa: N818 - as above
    """The provider took longer than the time it was given."""


class ProposalError(Exception):
    """A judge got no admitted proposal.

    Args:
        stage: "rank" or "reread".
        report: What the session did about the last question.
        usage: What the whole stage cost all the same.
    """

    def __init__(self, stage: str, report: Report[Any], usage: Usage) -> None:
        super().__init__(f"{stage}: {report.status.value}: {report.reason}")
        self.stage = stage
        self.report = report
        self.usage = usage
