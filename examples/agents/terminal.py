"""Puts the edits of an agent before the person at the terminal."""

import asyncio

from fileops_client import Answer, Question


async def review(question: Question) -> Answer:
    """Show the diff and wait for a decision."""
    print(f"\n{question.title}\n{question.diff}")
    given = await asyncio.to_thread(input, "Write it? [y]es, [a]lways, [n]o: ")
    match given.strip().lower():
        case "y" | "yes":
            return Answer(outcome="proceed_once")
        case "a" | "always":
            return Answer(outcome="proceed_always")
        case _:
            return Answer(outcome="cancel")
