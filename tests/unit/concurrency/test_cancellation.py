"""The race of a cancel with a commit has one winner."""

import threading

import pytest

from fileops.concurrency.cancellation import MAX_TRIES, Attempts, CancelToken
from fileops.model.errors import IoFailure
from fileops.model.internal_errors import Cancelled, Stale


def test_cancel_before_the_commit_stops_it() -> None:
    token = CancelToken()
    assert token.cancel()
    with pytest.raises(Cancelled):
        token.check()
    with pytest.raises(Cancelled):
        token.begin_commit()


def test_cancel_after_the_commit_began_is_too_late() -> None:
    token = CancelToken()
    token.begin_commit()
    assert not token.cancel()
    token.check()


def test_abandoned_commit_can_be_cancelled_again() -> None:
    token = CancelToken()
    token.begin_commit()
    token.abandon_commit()
    assert token.cancel()


def test_cancel_between_a_stale_commit_and_its_retry_is_in_time() -> None:
    token = CancelToken()
    attempts = Attempts(token)
    with attempts.next():
        token.begin_commit()
        raise Stale(path="/f")
    with attempts.next():
        assert token.cancel()


def test_file_that_keeps_changing_ends_the_attempts() -> None:
    attempts = Attempts(CancelToken())
    for _ in range(MAX_TRIES):
        with attempts.next():
            raise Stale(path="/f")
    with pytest.raises(IoFailure):
        attempts.next()


def test_exactly_one_of_commit_and_cancel_wins() -> None:
    for _ in range(200):
        token, start, won = CancelToken(), threading.Barrier(2), list[str]()

        def commit(token: CancelToken = token, start: threading.Barrier = start, won: list[str] = won) -> None:
            start.wait()
            try:
                token.begin_commit()
            except Cancelled:
                return
            won.append("commit")

        thread = threading.Thread(target=commit)
        thread.start()
        start.wait()
        if token.cancel():
            won.append("cancel")
        thread.join()
        assert len(won) == 1
