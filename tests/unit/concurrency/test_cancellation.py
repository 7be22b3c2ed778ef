"""The race of a cancel with a commit has one winner."""

import threading

import pytest

from fileops.concurrency.cancellation import CancelToken, retry_while_stale
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
    token, was_in_time = CancelToken(), list[bool]()

    def attempt() -> None:
        if not was_in_time:
            was_in_time.append(False)
            token.begin_commit()
            raise Stale(path="/f")
        was_in_time.append(token.cancel())

    retry_while_stale(token, attempt)
    assert was_in_time == [False, True]


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
