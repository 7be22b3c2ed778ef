"""Commits as `service/commit.py` makes them, for tests of what is made of them."""

from fileops.model.commits import Commit
from fileops.model.edits import Plan
from fileops.model.files import Committed
from fileops.model.record import BySession
from fileops.model.sessions import SessionName


def commit_of(plan: Plan, committed: Committed, edit_id: str, **facts: object) -> Commit:
    """Args: facts: fields of Commit. By default the session "s" has made it."""
    session_id = SessionName(str(facts.pop("session_id", "s")))
    return Commit(
        edit_id=edit_id,
        session_id=session_id,
        plan=plan,
        before=plan.snapshot,
        after=committed.snapshot,
        report=committed.report,
        **{  # pyrefly: ignore[bad-argument-type]
            "by": BySession(session_id=session_id, label=session_id),
            "given_path": plan.snapshot.path,
            "time": 0.0,
            **facts,
        },
    )
