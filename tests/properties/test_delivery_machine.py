"""An agent that believes its answers, and no more, loses no word of others, even if an answer is lost.

It reads, edits, and writes back whole texts as it was last sent them. Others change the files at any moment. Each
answer is sent, cancelled at some moment, or lost with the connection, over LSP and MCP. The model is what the agent
has been sent: from it follows that no word of others may vanish, and which files may count as read (R-SENT-1).
"""

import asyncio
import re
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from fileops.mcp.options import mcp_options
from fileops.model.settings import FreshnessRule
from support.patience import PATIENCE_S
from support.wired import HeldDisk, Message, Protocol, code_of, lsp_wire, mcp_wire, texts_of

OTHER = "/w/other"  # at which the disk can be held while notices are collected
FILES = ("/w/a", "/w/b")
N_SLOTS = 3  # lines of others in each file, far from each other
PADDING = "".join(f"padding {n}\n" for n in range(5))
Fate = Literal["answered", "cancelled", "lost"]

paths = st.sampled_from(FILES)
slots = st.integers(0, N_SLOTS - 1)
fates = st.sampled_from(("answered", "answered", "cancelled", "lost"))
# How many turns of the loop something happens after the request; None: while its notices are collected.
moments = st.none() | st.integers(0, 12)


class DeliveryMachine(RuleBasedStateMachine):
    protocol: Protocol
    freshness: FreshnessRule

    @initialize()
    def begin(self) -> None:
        self.runner = asyncio.Runner()
        self.exits = AsyncExitStack()
        self.disk = HeldDisk()
        self.disk.put(OTHER, b"other\n")
        self.n = 0
        self.words: dict[tuple[str, int], str] = {}  # of others, by file and line
        for path in FILES:
            for slot in range(N_SLOTS):
                self.words[path, slot] = f"word {slot}"
            text = "mine 0\n" + "".join(f"{PADDING}word {slot}\n" for slot in range(N_SLOTS))
            self.disk.put(path, text.encode())
        self.believed: dict[str, str] = {}  # the text of a file, as the agent knows it from its answers
        self.was_sent: set[str] = set()  # files that an answer has shown or named
        if self.protocol == "lsp":
            opened = lsp_wire(self.disk, freshness=self.freshness, notices="details")
        else:
            options = mcp_options({"roots": ["/w"], "freshness": self.freshness, "further_tools": ["Write", "Undo"]})
            opened = mcp_wire(self.disk, options)
        self.wire = self.run(self.exits.enter_async_context(opened))
        self.run(self.answered("read", OTHER))

    def teardown(self) -> None:
        self.disk.release()
        self.run(self.exits.aclose())
        self.runner.close()

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """As the runner does, which is longer at setting a handler of SIGINT than most requests take."""
        return self.runner.get_loop().run_until_complete(coroutine)

    # --- requests --------------------------------------------------------------------------------------------

    def start(self, kind: str, path: str, **more: Any) -> int:
        arguments = {"file_path": path, **more}
        if self.protocol == "mcp":
            return self.wire.start_tool(kind[0].upper() + kind[1:], **arguments)
        if kind == "undo":
            arguments["session_id"] = "default"
        return self.wire.start(f"fileops/{kind}", arguments)

    async def answered(self, kind: str, path: str, **more: Any) -> Message:
        return (await self.wire.answer(self.start(kind, path, **more)))["result"]

    async def request(
        self, kind: str, path: str, fate: Fate, moment: int | None, change: tuple[str, int] | None, **more: Any
    ) -> Message | None:
        """The result if the agent got one. The fate meets its request at the moment, after a change of others."""
        if moment is None:
            self.disk.hold(OTHER)
        msg_id = self.start(kind, path, **more)
        if moment is None:
            (request,) = self.wire.connection.in_flight() or (asyncio.ensure_future(asyncio.sleep(0)),)
            begun = asyncio.ensure_future(asyncio.to_thread(self.disk.has_begun.wait, PATIENCE_S))
            await asyncio.wait((request, begun), return_when=asyncio.FIRST_COMPLETED)
            self.disk.has_begun.set()
            await begun
        else:
            for _ in range(moment):
                await asyncio.sleep(0)
        if change is not None:
            self.change(*change)
        if fate == "cancelled":
            self.wire.cancel(msg_id)
        self.wire.is_open = fate != "lost"
        self.disk.release()
        await self.wire.settled()
        self.wire.is_open = True
        return self.wire.answers.get(msg_id, {}).get("result")

    def ask(self, kind: str, path: str, *rest: Any, **more: Any) -> Message | None:
        result = self.run(self.request(kind, path, *rest, **more))
        if result is not None:
            for named in FILES:  # notices first: what the result itself shows is the present
                if any(named in text for text in self.notices(result, path)):
                    self.believed.pop(named, None)
            if code_of(result) == "modified_externally":
                self.believed.pop(path, None)
        return result

    def notices(self, result: Message, path: str) -> list[str]:
        """The texts that report changes of others."""
        if self.protocol == "mcp":
            return [text for text in texts_of(result)[1:] if "had been applied already" not in text]
        details = result["details"]
        return [notice["file_path"] for notice in details.get("notices", ())] + [path] * ("rebased" in details)

    def change(self, path: str, slot: int) -> None:
        """Another program replaces its own line."""
        self.n += 1
        old, new = self.words[path, slot], f"word {slot} of {self.n}"
        self.words[path, slot] = new
        text = self.disk.read(path).data.decode()
        assert f"\n{old}\n" in text
        self.disk.put(path, text.replace(f"\n{old}\n", f"\n{new}\n").encode())

    # --- rules -----------------------------------------------------------------------------------------------

    @rule(path=paths, slot=slots)
    def others_change(self, path: str, slot: int) -> None:
        self.change(path, slot)

    @rule(path=paths, fate=fates, moment=moments, change=st.none() | st.tuples(paths, slots), raw=st.booleans())
    def read(self, path: str, fate: Fate, moment: int | None, change: tuple[str, int] | None, raw: bool) -> None:
        more = {"raw": True} if raw and self.protocol == "lsp" else {}
        result = self.ask("read", path, fate, moment, change, **more)
        if result is not None and code_of(result) is None:
            self.was_sent.add(path)
            self.believed[path] = self.shown(result)

    @rule(fate=fates, moment=moments, change=st.none() | st.tuples(paths, slots))
    def read_another_file(self, fate: Fate, moment: int | None, change: tuple[str, int] | None) -> None:
        self.ask("read", OTHER, fate, moment, change)

    @rule(path=paths, fate=fates, moment=moments)
    def record_read(self, path: str, fate: Fate, moment: int | None) -> None:
        """The agent has looked at the file by itself."""
        if self.protocol == "lsp":
            looked_at = self.disk.read(path).data.decode()
            result = self.run(self.request("recordRead", path, fate, moment, None))
            if result is not None and result["recorded"]:
                self.was_sent.add(path)
                self.believed[path] = looked_at

    @rule(path=paths, fate=fates, moment=moments, change=st.none() | st.tuples(paths, slots))
    def write(self, path: str, fate: Fate, moment: int | None, change: tuple[str, int] | None) -> None:
        """A whole text as the agent believes it to be, but for its own line."""
        if path in self.believed:
            self.n += 1
            content = re.sub(r"mine \d+", f"mine {self.n}", self.believed[path])
            result = self.ask("write", path, fate, moment, change, content=content)
            if result is not None and code_of(result) is None and path in self.believed:
                self.believed[path] = content

    @rule(path=paths, fate=fates, moment=moments, change=st.none() | st.tuples(paths, slots), is_multi=st.booleans())
    def edit(self, path: str, fate: Fate, moment: int | None, change: tuple[str, int] | None, is_multi: bool) -> None:
        if path in self.believed:
            self.n += 1
            (old,) = re.findall(r"mine \d+\n", self.believed[path])
            step = {"old_string": old, "new_string": f"mine {self.n}\n"}
            more = {"edits": [step]} if is_multi else step
            result = self.ask("multiEdit" if is_multi else "edit", path, fate, moment, change, **more)
            if result is not None and code_of(result) is None and path in self.believed:
                self.believed[path] = self.believed[path].replace(old, step["new_string"])

    @rule(path=paths, fate=fates, moment=moments, change=st.none() | st.tuples(paths, slots))
    def undo(self, path: str, fate: Fate, moment: int | None, change: tuple[str, int] | None) -> None:
        self.believed.pop(path, None)
        self.ask("undo", path, fate, moment, change)

    @rule(path=paths)
    def write_unseen(self, path: str) -> None:
        """A file that no answer has shown must not be replaced."""
        if path not in self.was_sent:
            result = self.ask("write", path, "answered", 0, None, content="unseen\n")
            assert result is not None
            assert code_of(result) == "not_read"

    def shown(self, result: Message) -> str:
        """The text of a read."""
        if self.protocol == "lsp" and "text" in result["details"]:
            return result["details"]["text"]
        output = texts_of(result)[0] if self.protocol == "mcp" else result["output"]
        return "".join(f"{line}\n" for line in re.findall(r"^ *\d+→(.*)$", output, re.MULTILINE))

    @invariant()
    def no_word_of_others_is_lost(self) -> None:
        for (path, _), word in self.words.items():
            assert f"\n{word}\n" in self.disk.read(path).data.decode()

    @invariant()
    def nothing_counts_that_was_not_sent(self) -> None:
        if self.protocol == "lsp" and len(self.was_sent) < len(FILES):  # else all may count
            tracked = self.run(self.wire.call("fileops/tracked"))["files"]
            assert {file["file_path"] for file in tracked} <= {OTHER, *self.was_sent}


@pytest.mark.parametrize("freshness", ["mtime", "content", "relevant"])
@pytest.mark.parametrize("protocol", ["lsp", "mcp"])
def test_agent_that_believes_its_answers_loses_no_word(protocol: Protocol, freshness: FreshnessRule) -> None:
    machine = type("Machine", (DeliveryMachine,), {"protocol": protocol, "freshness": freshness})
    run_state_machine_as_test(
        machine,
        settings=settings(
            # Fewer miss a read that counts a notice about its own file, which only `relevant` shows.
            max_examples=200 if freshness == "relevant" else 60,
            stateful_step_count=25,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        ),
    )
