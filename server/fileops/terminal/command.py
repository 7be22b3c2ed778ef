"""The commands `review`, `review accept` and `review reject`: a list, decisions for scripts, and the full screen.

The list and the decisions do not count as views, because they do not stay open for a person. No edit waits for them.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterable

from fileops.attach.address import find_address
from fileops.attach.starter import is_served
from fileops.platform.page import COLUMN, Line, json_text, plain, print_lines, print_text, say
from fileops.terminal.board import files_of
from fileops.terminal.connection import (
    DECIDE_S,
    DONE,
    FAILED,
    FOLDER_IS_GONE,
    MISUSED,
    UNREACHABLE,
    CommandClient,
    finish,
    reason_of,
)
from fileops.terminal.decisions import why_left
from fileops.terminal.lines import place, seconds, size, visible
from fileops.terminal.record_arguments import Misused
from fileops_client.errors import ResponseError
from fileops_client.values import Review


def main(options: argparse.Namespace) -> int:
    """Run a command. Returns the exit status: 0 done, 1 something was left or no daemon runs, 2 wrong arguments."""
    try:
        folder = os.getcwd()
    except FileNotFoundError:
        return _fail(FOLDER_IS_GONE, FAILED)
    try:
        if options.review_command is not None:
            return _decide(options, folder)
        if options.list or options.json:
            return _print_list(options, folder)
    except Misused as fault:
        return _fail(str(fault), MISUSED)
    except ResponseError as fault:
        return _fail(reason_of(fault), FAILED)
    except UNREACHABLE as fault:
        return _fail(f"The shared daemon cannot be reached: {fault}", FAILED)
    return show_screen(
        options,
        folder,
        "`fileops-server review --list` prints what waits; `review accept ID` and `review reject ID` decide.",
    )


def show_screen(options: argparse.Namespace, folder: str, otherwise: str) -> int:
    """Show the full screen of `review` or `changes` until the person leaves it. Returns the exit status.

    Args: otherwise: what to use without it.
    """
    command = options.command
    if not (sys.stdin.isatty() and sys.stderr.isatty()):  # Textual draws on stderr
        return _fail(f"The full screen needs a terminal. {otherwise}", MISUSED, command)
    try:
        from fileops.terminal.screen import run
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] != "textual":
            raise
        return _fail(
            "The full screen needs Textual, which is not installed. In the folder of fileops-server, run:\n"
            f"    {sys.executable} -m pip install '.[review]'\n"
            f"Without it: {otherwise}",
            FAILED,
            command,
        )
    return run(options.socket, folder, begins_with_changes=command == "changes")


# --- the list -----------------------------------------------------------------------------------------------------


def _print_list(options: argparse.Namespace, folder: str) -> int:
    if not is_served(find_address(options.socket, os.environ)):
        return _no_daemon()
    with CommandClient(options.socket, folder) as client:
        reviews = finish(client.reviews(include_texts=False))
    if options.json:
        sys.stdout.write(json_text({"reviews": reviews}) + "\n")
    else:
        print_lines([_line(review, folder) for review in reviews] or [plain("Nothing waits.")])
    return DONE


def _line(review: Review, folder: str) -> Line:
    now = time.time()
    flag = "  protected" if any(file.is_protected for file in files_of(review)) else ""
    waits = f"waits {seconds(now - review.asked_at)}, {seconds(review.expires_at - now)} left"
    columns = [visible(review.session.label), place(review, folder), f"{size(review)}{flag}  {waits}"]
    return [(review.review_id, "plain"), *(part for text in columns for part in (COLUMN, (text, "plain")))]


# --- decisions ----------------------------------------------------------------------------------------------------


def _decide(options: argparse.Namespace, folder: str) -> int:
    """Raises: Misused, UNREACHABLE."""
    if bool(options.ids) == options.all:
        raise Misused(f"Name the reviews, or give --all: fileops-server review {options.review_command} ID... | --all")
    if not is_served(find_address(options.socket, os.environ)):
        return _no_daemon()
    with CommandClient(options.socket, folder if options.all else "/") as client:
        return finish(_send_decision(client, options, folder))


async def _send_decision(client: CommandClient, options: argparse.Namespace, folder: str) -> int:
    """Raises: Misused, UNREACHABLE."""
    reviews = {review.review_id: review for review in await client.reviews(include_texts=False)}
    named = (_full_id(given, reviews) for given in options.ids)
    chosen = list(reviews if options.all else dict.fromkeys(named))
    if not chosen:
        sys.stdout.write("Nothing waits.\n")
        return DONE
    accepts = options.review_command == "accept"
    result = await client.decide_reviews(
        "accept" if accepts else "reject",
        review_ids=chosen,
        reason=None if accepts else options.reason,
        timeout_s=DECIDE_S,
    )
    failures = {decided.review_id: decided.error for decided in result.decided}
    left = {review.review_id: review.reason for review in result.left}
    status = DONE
    for review_id in chosen:
        where = f"  {place(reviews[review_id], folder)}" if review_id in reviews else ""
        if left.get(review_id) == "unknown_review":
            outcome, status = "no waiting edit has this id: `fileops-server review --list` shows all that wait", FAILED
        elif review_id in left:
            outcome, status = f"left: {why_left(left[review_id])}", FAILED
        elif (error := failures.get(review_id)) is not None:
            outcome, status = f"accepted, but not written: {visible(error.message)}", FAILED
        else:
            outcome = "accepted" if accepts else "rejected"
        print_text(f"{review_id}{where}  {outcome}", may_page=False)
    return status


def _full_id(given: str, reviews: Iterable[str]) -> str:
    """Complete the beginning of an id. Raises: Misused.

    An unknown beginning is returned unchanged, because the daemon may still know what became of that edit.
    """
    found = [review_id for review_id in reviews if review_id.startswith(given)]
    if given in found or not found:
        return given
    if len(found) > 1:
        raise Misused(f"{len(found)} ids begin with {visible(given)}: {', '.join(found[:5])}. Nothing was decided.")
    return found[0]


def _no_daemon() -> int:
    return _fail("No shared daemon is running, so nothing waits.", FAILED)


def _fail(sentence: str, status: int, command: str = "review") -> int:
    say(f"fileops-server {command}: {sentence}")
    return status
