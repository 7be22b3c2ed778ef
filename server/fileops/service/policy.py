from msgspec import Struct

from fileops.core.roots import Roots
from fileops.model.settings import ApprovalMode


class Policy(Struct, frozen=True, kw_only=True):
    """Who may write where, and who is asked, at the moment of the request. can_correct: the client proposes words."""

    roots: Roots | None
    mode: ApprovalMode
    can_ask: bool
    can_correct: bool = False
