"""Plays a story against a door (the service in this process, or the daemon) and checks the world after each request."""

import hashlib
import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast

from scenarios.story import ABSENT, REMINDER, Answer, Fact, Lines, Step, Story, filled
from scenarios.unified import apply_unified, render
from scenarios.world import Entry, act, changes, content_of, entries, entry_at
from support.patience import PATIENCE_S

METHODS = {"read": "fileops/read", "edit": "fileops/edit", "multi_edit": "fileops/multiEdit"}


@dataclass(frozen=True, slots=True)
class Refused:
    """The request was answered with a JSON-RPC error."""

    error: dict[str, Any]


class Door(Protocol):
    """One way to the product."""

    async def request(self, method: str, params: dict[str, Any]) -> Any:
        """The result as JSON, or Refused."""
        ...

    async def event(self, name: str, where: Callable[[Mapping[str, Any]], bool], timeout_s: float) -> Mapping[str, Any]:
        """The first event of that name since the story began, and not yet given out, that `where` is true for."""
        ...


class Stage:
    def __init__(self, story: Story, door: Door, root: str, outside: str) -> None:
        self._story = story
        self._door = door
        self._root = root
        self._variables = {"ROOT": root, "OUTSIDE": outside, "REMINDER": REMINDER}
        self._outside = outside
        # One daemon serves many stories: each has its own sessions.
        self._session_prefix = hashlib.sha256(story.name.encode()).hexdigest()[:8]

    async def play(self) -> None:
        for step in self._story.steps:
            try:
                await self._step(step)
            except AssertionError as error:
                error.add_note(f"at {self._story.subject}.txt:{step.line} [{step.verb}]")
                raise

    async def _step(self, step: Step) -> None:
        if step.verb in METHODS or step.verb == "request":
            await self._ask(step)
        elif step.verb == "event":
            await self._expect_event(step)
        elif step.verb == "now":
            self._check_file(step)
        elif step.verb == "gone":
            assert entry_at(self._path(step.args[0])) is None, f"{step.args[0]} still exists"
        else:
            name, *more = step.args
            act(step, self._path(name), *(filled(word, self._variables) for word in more))

    def _path(self, name: str) -> str:
        return os.path.join(self._root, filled(name, self._variables))

    # --- requests ----------------------------------------------------------------------------------------------

    async def _ask(self, step: Step) -> None:
        assert step.answer is not None, "a request needs an answer"
        method = METHODS.get(step.verb) or step.args[0]
        params = self._params(step)
        before = self._world()
        result = await self._door.request(method, params)
        after = self._world()
        self._check_answer(step.answer, result)
        if isinstance(result, Refused) or step.verb == "request":
            assert changes(before, after) == {}, "a request that only asks changed something"
        else:
            self._check_world(params, cast("dict[str, Any]", result), before, after)

    def _params(self, step: Step) -> dict[str, Any]:
        params: dict[str, Any] = {}
        if step.verb in METHODS:
            params["file_path"] = self._path(step.args[0])
        pairs = [
            {"old_string": filled(old, self._variables), "new_string": filled(new, self._variables)}
            | ({"replace_all": True} if every else {})
            for old, new, every in step.swaps
        ]
        if step.verb == "multi_edit":
            params["edits"] = pairs
        elif pairs:
            params |= pairs[0]
        session = None
        for fact in step.params:
            value = fact.expected.as_text() if isinstance(fact.expected, Lines) else fact.expected
            if fact.path == "session":
                session = value
            elif value is ABSENT:
                params.pop(fact.path)
            else:
                params[fact.path] = filled(value, self._variables)
        if (step.verb in METHODS or session is not None) and "session_id" not in params:
            params["session_id"] = self._session(session or "default")
        return params

    def _session(self, name: str) -> str:
        return f"{self._session_prefix}-{name}"

    def _check_answer(self, expected: Answer, result: Any) -> None:
        if isinstance(result, Refused):
            assert expected.kind == "refused", f"refused: {result.error}"
            assert str(result.error["code"]) == expected.code
            self._check_facts(expected.facts, result.error)
            return
        assert expected.kind != "refused", f"taken, with {result}"
        if expected.kind != "result":
            code = None if result["error"] is None else result["error"]["code"]
            assert (result["status"], code) == (expected.kind, expected.code), result["output"][:400]
            if expected.kind == "error":
                assert result["error"]["message"]  # pyrefly: ignore[unsupported-operation]
            if expected.output is not None:
                assert result["output"] == filled(expected.output.as_text(), self._variables)
        self._check_facts(expected.facts, result)

    def _check_facts(self, facts: tuple[Fact, ...], value: Any) -> None:
        for fact in facts:
            found = look_up(value, fact.path)
            if isinstance(fact.expected, Lines):
                assert found == filled(fact.expected.as_text(), self._variables), fact.path
            elif fact.expected is ABSENT:
                assert found is ABSENT, f"{fact.path} is {found!r}"
            else:
                expected = filled(fact.expected, self._variables)
                if fact.path in {"session_id", "details.changed_by"} and expected != "external":
                    expected = self._session(expected)
                elif fact.path == "source" and expected.startswith("session:"):
                    expected = "session:" + self._session(expected.removeprefix("session:"))
                assert contains(found, expected), f"{fact.path} is {found!r}, not {expected!r}"

    async def _expect_event(self, step: Step) -> None:
        path = self._path(step.args[1])

        def is_meant(params: Mapping[str, Any]) -> bool:
            of_story = params["session_id"].startswith(self._session_prefix)
            session = next((f.expected for f in step.params if f.path == "session_id"), None)
            return (
                of_story
                and params["file_path"] == path
                and (session is None or params["session_id"] == self._session(session))
            )

        params = await self._door.event(step.args[0], is_meant, PATIENCE_S)
        self._check_facts(tuple(fact for fact in step.params if fact.path != "session_id"), params)

    # --- the world ---------------------------------------------------------------------------------------------

    def _world(self) -> dict[str, Entry]:
        return {**entries(self._root), **entries(self._outside)}

    def _check_world(
        self, params: dict[str, Any], result: dict[str, Any], before: dict[str, Entry], after: dict[str, Entry]
    ) -> None:
        changed = changes(before, after)
        is_edit = "old_string" in params or "edits" in params
        if not is_edit or result["status"] == "error" or params.get("dry_run"):
            assert changed == {}, "a request that writes nothing changed something"
        extra = result["ui_extra"]
        if not is_edit:
            assert extra is None
        elif result["status"] == "error":
            assert extra is None or params.get("dry_run") is not None
        else:
            target = os.path.realpath(params["file_path"])
            old = before[target].content if target in before else b""
            new = after[target].content if target in after else b""
            check_extra(extra, old, None if params.get("dry_run") else new)
            parents = {target[:index] for index, letter in enumerate(target) if letter == "/"}
            same_inode = {name for name, entry in after.items() if target in after and entry.ino == after[target].ino}
            assert set(changed) <= {target, *parents, *same_inode}, "more than the edited file changed"
            if target in before and target in after:
                assert after[target].mode == before[target].mode

    def _check_file(self, step: Step) -> None:
        path = self._path(step.args[0])
        options = step.options
        if "symlink" in options:
            assert os.readlink(path) == filled(options["symlink"], self._variables)
        info = os.stat(path)
        if "mode" in options:
            assert f"{stat.S_IMODE(info.st_mode):o}" == options["mode"]
        if "links" in options:
            assert info.st_nlink == int(options["links"])
        if step.content.lines or not options:
            with open(path, "rb") as file:
                assert file.read() == content_of(step)


def check_extra(extra: dict[str, Any], old: bytes, new: bytes | None) -> None:
    """`new` None: nothing was written."""
    assert extra is not None, "a change without ui_extra"
    lines = [line for hunk in extra["hunks"] for line in hunk["lines"]]
    if extra["truncated"]:
        return
    n_added, n_removed = (sum(line["kind"] == kind for line in lines) for kind in "+-")
    assert extra["stats"] == {"added": n_added, "removed": n_removed}
    body = "".join(extra["diff"].partition("@@ ")[1:])
    assert body == render(extra["hunks"])
    if extra["exact"]:
        patched = apply_unified(old, extra["diff"])
        assert new is None or patched == new, "the diff does not lead to what was written"


# --- looking --------------------------------------------------------------------------------------------------


def look_up(value: Any, dotted: str) -> Any:
    found = value
    for key in dotted.split("."):
        if isinstance(found, list):
            items = cast("list[Any]", found)
            found = items[int(key)] if key.isdigit() and int(key) < len(items) else ABSENT
        elif isinstance(found, dict):
            found = cast("dict[str, Any]", found).get(key, ABSENT)
        else:
            return ABSENT
    return found


def contains(found: Any, expected: Any) -> bool:
    """Objects as subsets; anything else as equal, without taking 1 for true."""
    if isinstance(found, dict) and isinstance(expected, dict):
        has, wants = cast("dict[str, Any]", found), cast("dict[str, Any]", expected)
        return all(key in has and contains(has[key], value) for key, value in wants.items())
    if isinstance(found, list) and isinstance(expected, list):
        items, wanted = cast("list[Any]", found), cast("list[Any]", expected)
        return len(items) == len(wanted) and all(map(contains, items, wanted))
    return found == expected and isinstance(found, bool) == isinstance(expected, bool)
