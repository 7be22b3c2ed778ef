"""The race of a cancel with a commit has one winner."""

import threading

import pytest

from fileops.concurrency.cancellation import CancelToken, retry_while_stale
from fileops.model.internal_errors import Cancelled, Stale


def test_a_cancel_in_time_stops_the_commit() -> None:
    token = CancelToken()
    assert token.cancel()
    with pytest.raises(Cancelled):
        token.check()
    with pytest.raises(Cancelled):
        token.begin_commit()


def test_a_cancel_after_the_commit_began_is_too_late() -> None:
    token = CancelToken()
    token.begin_commit()
    assert not token.cancel()
    token.check()


def test_a_commit_given_up_can_be_cancelled_again() -> None:
    token = CancelToken()
    token.begin_commit()
    token.abandon_commit()
    assert token.cancel()


def test_cancel_between_a_lost_commit_and_the_next_try_is_in_time() -> None:
    token, was_in_time = CancelToken(), list[bool]()

    def attempt() -> None:
        if not was_in_time:
            was_in_time.append(False)
            token.begin_commit()
            raise Stale(path="/f")
        was_in_time.append(token.cancel())

    retry_while_stale(token, attempt)
    assert was_in_time == [False, True]


def test_of_two_that_race_exactly_one_wins() -> None:
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
