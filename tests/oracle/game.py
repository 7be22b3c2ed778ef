"""One game: steps by agents, a person and other programs at the same files, each judged by the oracle.

A step is a name and a number; what it does follows from the number and from the contents at that moment. So a game is
replayed by its seed, and a step can be left out of it.
"""

import json
import os
import random
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oracle import editor
from oracle.contents import (
    Applied,
    Content,
    Document,
    Oracle,
    Sight,
    Wrong,
    as_shown,
    judge_merge,
    judge_rewriting,
    judge_splice,
    mixes_encodings,
    n_matches,
    raw,
    require,
    same,
    shown,
)
from oracle.peer import Peer, file_names
from oracle.texts import FORMATS, Vocabulary, codec_of, lf, text_of, words_of
from support.patience import PATIENCE_S
from support.rawclient import Message

LONG = "s" * 200
# Names of the two sessions of daemon 0: also those of other kinds of sources, and two that are nearly equal.
NAMES = (("p", "q"), ("p", "q"), ("buffer", "external"), (f"{LONG}1", f"{LONG}2"), ("p", "p/q"), (" ", "ä"))
OBSERVER = "observer"
CHANGED = {"modified_externally", "not_read"}
NO_ANSWERS = (  # JSON
    'null', '[]', '5', '"proceed_once"', '{}', '{"outcome": "yes"}', '{"outcome": []}', '{"outcome": {}}',
    '{"outcome": "modify"}', '{"outcome": "modify", "text": 5}', '{"outcome": "proceed_once", "text": []}',
    '{"outcome": "proceed_always", "text": {}}', '{"outcome": null, "text": "x"}',
)  # fmt: skip
EMPTY_PATTERNS = ("x*", "q?", "|zz", r"\B", "(?:)", "(?m)^|x*")
STEPS: dict[str, float] = {  # and how often, beside each other
    "read": 12, "edit": 22, "edit_after_another": 3, "multi_edit": 5, "create": 3,
    "regex": 2, "batch": 3, "cancelled_edit": 2,
    "undo": 10, "undo_again": 3, "undo_session": 3,
    "open": 8, "type": 8, "reload": 6, "save": 5, "close_document": 3, "open_and_look_at_once": 2,
    "reload_before_a_write": 0.5, "open_without_descriptors": 0.5,
    "write": 7, "write_back": 5, "truncate": 1, "delete": 2, "touch": 1,
    "set_mode": 1, "close_session": 1, "kill": 0.7, "restart": 0.7,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Step:
    name: str
    number: int

    def __str__(self) -> str:
        return f"{self.name}:{self.number}"


@dataclass(slots=True)
class Turn:
    """What is to happen while a request is on its way. plan: the text that is proposed, None: any."""

    daemon: int
    session: str
    plan: str | None
    decision: str = "once"
    applying: str = "oblige"
    meanwhile: Callable[[], None] | None = None
    may_ask: bool = True
    msg_id: int = 0
    n_asked: int = 0
    n_applied: int = 0
    decided: dict[str, str | None] = field(default_factory=dict)  # path → the text that is expected, None: rejected
    was: Content = None  # what the person was shown last
    stood: Content = None  # when they decided
    dropped: set[str] = field(default_factory=set)  # words that were proposed, and that they did not want
    refusals: set[str] = field(default_factory=set)  # codes that their answers may have
    is_closed: bool = False
    applied: dict[str, str] = field(default_factory=dict)  # path → the document's text, as the daemon's edit made it

    @property
    def has_moved(self) -> bool:
        """Whether the file changed while the person thought."""
        return not same(self.was, self.stood)

    def refuse(self, path: str, code: str) -> None:
        self.decided[path] = None
        self.refusals.add(code)

    def __str__(self) -> str:
        asked = f"{self.decision} ({'more happened' if self.meanwhile else 'at once'})" if self.n_asked else ""
        return f"{asked} {self.applying if self.n_applied else ''}".strip()


def steps_of(seed: int, n_steps: int) -> list[Step]:
    dice = random.Random(seed)
    names = dice.choices(list(STEPS), list(STEPS.values()), k=n_steps)
    return [Step(name, dice.randrange(10**6)) for name in names]


class Game:
    """folder: a new one. Raises: Wrong, at the first thing that the oracle does not allow."""

    def __init__(self, folder: str, seed: int) -> None:
        dice = random.Random(f"setting {seed}")
        self.folder = folder
        self.root = f"{folder}/w"
        self.oracle = Oracle()
        self.words = Vocabulary()
        self.outcomes: Counter[str] = Counter()
        self.trace: list[str] = []
        self.paths = [f"{self.root}/f{n}" for n in range(4)]
        self._encoding = dice.choice(["utf-8", "utf-16", "utf-32"])
        self._asks = dice.random() < 0.6
        self._is_hasty = dice.random() < 0.5
        self._options: dict[str, object] = {"history": "persistent", "freshness": dice.choice(["mtime", "content"])}
        self.sessions = {0: dice.choice(NAMES), 1: ("r", "s")}
        self._unlooked: set[str] = set()  # opened or changed back, and the daemon has not answered since
        self._past: dict[str, list[bytes]] = {path: [] for path in self.paths}
        self._turn: Turn | None = None
        self._dice = dice
        self.peers: dict[int, Peer] = {}

    def _set_up(self) -> None:
        os.mkdir(self.root)
        for path in self.paths:
            self._put(path, self.words.content(self._dice, self._dice.choice(FORMATS)))
        os.link(self.paths[3], f"{self.folder}/twin")  # so that it is written in place
        os.symlink("f0", f"{self.root}/link")
        for daemon in self.sessions:
            self._start(daemon)

    def play(self, steps: list[Step]) -> None:
        try:
            self._set_up()
            for step in steps:
                self.trace.append(f"{step}")
                getattr(self, step.name)(random.Random(f"{step}"))
                self._check()
            for peer in self.peers.values():
                peer.shut_down()
            self._check()
        finally:
            for peer in self.peers.values():
                peer.close()

    # --- agents --------------------------------------------------------------------------------------------------

    def read(self, dice: random.Random) -> None:
        daemon, session, path = self._who(dice)
        self._read(daemon, session, path, name=self._name(dice, path))

    def _read(self, daemon: int, session: str, path: str, *, name: str | None = None) -> None:
        content = self.oracle.present(daemon, path)
        peer = self.peers[daemon]
        code, result = peer.outcome(peer.begin("fileops/read", {"file_path": name or path, "session_id": session}))
        self._note("read", daemon, session, code, path)
        if code != "ok" and self._is_doubtful(daemon, path):
            return
        self._looked(daemon, path)
        key = (daemon, session, path)
        if content is None:
            require(code == "not_found", f"the read of a missing file: {code}")
            self.oracle.sights.pop(key, None)
            return
        require(code == "ok", f"the read of {content!r}: {code}")
        self._judge_read(content, result["output"])
        is_open = daemon == 0 and path in self.oracle.documents
        require(
            result["details"]["source"] == "buffer" or not isinstance(content, str),
            "unsaved text is not from the buffer",
        )
        require(result["details"]["source"] == "disk" or is_open, "the buffer of a document that is not open")
        self.oracle.sights[key] = Sight(shown(content), n_foreign=self.oracle.n_foreign(daemon, path))

    def _judge_read(self, content: Content, output: str) -> None:
        lines = shown(content).split("\n")
        if not lines[-1]:
            lines.pop()
        body = "\n".join(f"{n:6d}→{line}" for n, line in enumerate(lines, 1))
        expected = f"{body}\n\n<system-reminder>" if lines else "<system-reminder>Warning"
        require(output.startswith(expected), f"the read of {content!r} gave {output!r}")

    def edit(self, dice: random.Random) -> None:
        daemon, session, path = self._who(dice)
        if dice.random() < 0.7:
            self._read(daemon, session, path)
        old, new = self.words.change(dice, shown(self.oracle.present(daemon, path)))
        self._edit(dice, daemon, session, path, [(old, new)])

    def edit_after_another(self, dice: random.Random) -> None:
        """Another session of the same daemon has changed the file since this one read it."""
        daemon, _, path = self._who(dice)
        session, other = dice.sample(self.sessions[daemon], 2)
        for reader in (session, other):
            self._read(daemon, reader, path)
        for writer in (other, session):
            change = self.words.change(dice, shown(self.oracle.present(daemon, path)))
            self._edit(dice, daemon, writer, path, [change])

    def multi_edit(self, dice: random.Random) -> None:
        daemon, session, path = self._who(dice)
        self._read(daemon, session, path)
        text, edits = shown(self.oracle.present(daemon, path)), list[tuple[str, str]]()
        for _ in range(dice.randint(1, 3)):
            old, new = self.words.change(dice, text)
            edits.append((old, new))
            text = text.replace(old, new)
        self._edit(dice, daemon, session, path, edits, is_multi=True)

    def create(self, dice: random.Random) -> None:
        daemon, session, path = self._who(dice)
        self._edit(dice, daemon, session, path, [("", f"{self.words.line(dice)}\n{self.words.line(dice)}\n")])

    def cancelled_edit(self, dice: random.Random) -> None:
        daemon, session, path = self._who(dice)
        self._read(daemon, session, path)
        change = self.words.change(dice, shown(self.oracle.present(daemon, path)))
        self._edit(dice, daemon, session, path, [change], is_cancelled=True)

    def _edit(
        self,
        dice: random.Random,
        daemon: int,
        session: str,
        path: str,
        edits: list[tuple[str, str]],
        *,
        is_multi: bool = False,
        is_cancelled: bool = False,
    ) -> None:
        self._settle(path)
        is_dry = dice.random() < 0.1
        before = self.oracle.present(daemon, path)
        planned = lf(raw(before))
        allowed = {"ok"}
        for old, new in edits:
            count = n_matches(planned, old)
            allowed = self.oracle.codes_of_edit(daemon, session, path, old, new, count)
            if "ok" not in allowed:
                break
            planned = planned.replace(old, new) if old else new
        changes_something = before is None or planned != lf(raw(before))
        planned = as_shown(planned)
        asks = self._must_ask(daemon, session, path) and changes_something and not is_dry
        decision, applying, meanwhile = self._behaviour(dice, daemon, session, path)
        if is_cancelled and decision == "always":  # the cancel may come before the answer, which then says nothing
            decision = "once"
        turn = Turn(daemon, session, planned, decision, applying, meanwhile, may_ask=asks)
        params: dict[str, Any] = {"file_path": self._name(dice, path), "session_id": session, "dry_run": is_dry}
        steps = [{"old_string": old, "new_string": new} for old, new in edits]
        peer = self.peers[daemon]
        turn.msg_id = (
            peer.begin("fileops/multiEdit", {**params, "edits": steps})
            if is_multi
            else peer.begin("fileops/edit", {**params, **steps[0]})
        )
        if is_cancelled:
            peer.cancel(turn.msg_id)
        code, result = self._served(turn)
        self._note("dry run" if is_dry else "edit", daemon, session, code, path, edits, turn)
        if code != "ok" and self._is_doubtful(daemon, path):
            return
        self._looked(daemon, path)
        if code == "ok" and not is_dry:
            require("ok" in allowed, f"accepted, where {allowed} was due: {edits} of {before!r}")
            require(bool(turn.n_asked) == asks, f"a person was asked {turn.n_asked} times, not {int(asks)}")
            wanted = turn.decided.get(path, planned)
            require(wanted is not None, f"written, though the person said no ({turn.decision})")
            stood = turn.stood if turn.n_asked else before
            after = self._written(turn, path, stood, result["details"]["applied_to"])
            if turn.has_moved:
                require("rebased" in result["details"], f"merged, and not reported: {result['details']}")
                judge_merge(shown(turn.was), wanted or "", shown(stood), shown(after))
            elif stood is None:
                require(shown(after) == wanted, f"{wanted!r} was to be created, not {after!r}")
            elif len(edits) == 1 and wanted == planned and turn.n_asked < 2:
                judge_splice(stood, *edits[0], after)
            else:
                judge_rewriting(stood, wanted or "", after)
            self._applied(daemon, session, path, stood, after, result["details"]["edit_id"])
            if "rebased" in result["details"]:
                self.oracle.sights[daemon, session, path].text = f"without what others wrote: {turn.msg_id}"
            return
        if code == "not_found" and not is_dry:
            self.oracle.sights.pop((daemon, session, path), None)
        if code == "ok":
            require("ok" in allowed, f"a dry run says yes, where {allowed} was due")
            return
        if is_cancelled:
            allowed |= {"cancelled"}
        if code == "modified_externally":
            self._judge_changer(daemon, session, path, result)
        self._judge_refusal(turn, path, before, code, allowed)

    def _judge_refusal(self, turn: Turn, path: str, before: Content, code: str, allowed: set[str]) -> None:
        """allowed: codes that the file explains; the user, the editor and a change in between may cause others."""
        allowed = allowed - {"ok"}
        if turn.n_asked:
            allowed |= turn.refusals
        if turn.n_applied and turn.applying != "oblige":
            allowed |= {"apply_refused", *CHANGED}
        require(code in allowed, f"refused with {code}, where only {allowed or 'yes'} was due; {turn}; {before!r}")

    def _judge_changer(self, daemon: int, session: str, path: str, result: dict[str, Any]) -> None:
        """What sessions of this daemon alone have changed was changed by none of the others."""
        sight = self.oracle.sights.get((daemon, session, path))
        if sight is None or sight.n_foreign is None or path in self.oracle.documents:
            return
        if sight.n_foreign == self.oracle.n_foreign(daemon, path):
            changed_by = result["details"]["changed_by"]
            require(changed_by not in {"buffer", "external"}, f"a session is called {changed_by!r}")

    def regex(self, dice: random.Random) -> None:
        daemon, session, path = self._who(dice)
        self._settle(path)
        self._read(daemon, session, path)
        before = self.oracle.present(daemon, path)
        if before is None or self._must_ask(daemon, session, path) or "-" in shown(before):
            return
        turn = Turn(daemon, session, None, may_ask=False)
        turn.msg_id = self.peers[daemon].begin(
            "fileops/edit",
            {
                "file_path": path,
                "session_id": session,
                "old_string": dice.choice(EMPTY_PATTERNS),
                "new_string": "-",
                "strategy": "regex",
                "replace_all": True,
            },
        )
        code, result = self._served(turn)
        self._note("regex", daemon, session, code, path)
        require(code in {"ok", "no_match", "no_change", "invalid_pattern"} or self._is_doubtful(daemon, path), code)
        if code == "ok":
            after = self._written(turn, path, before, result["details"]["applied_to"])
            require(raw(after).replace("-", "") == raw(before), f"`-` between characters of {before!r} gave {after!r}")
            self._applied(daemon, session, path, before, after, result["details"]["edit_id"])
            if result["details"]["edit_id"]:
                self.oracle.applied[result["details"]["edit_id"]] = Applied(path, daemon)
            if isinstance(before, str):  # words that are cut into letters are none to judge an undo by
                self._change(self.oracle.documents[path], f"{self.words.line(dice)}\n")
            else:
                self._foreign(dice, path, self.words.content(dice, dice.choice(FORMATS)))

    def batch(self, dice: random.Random) -> None:
        """Edits of different words of one file, all on their way at once, by several sessions of both daemons."""
        path = dice.choice(self.paths)
        if self.oracle.is_dirty(path) or self.oracle.disk[path] is None:
            return
        self._settle(path)
        before = self.oracle.disk[path]
        text = shown(before)
        words = [word for word in dict.fromkeys(re.findall(r"v\d+", text)) if n_matches(text, word) == 1]
        who = [(d, s) for d, names in self.sessions.items() for s in names if not self._must_ask(d, s, path)]
        for daemon, session in who:
            self._read(daemon, session, path)
        asked: list[tuple[int, int, str, str, str]] = []
        for word in dice.sample(words, min(len(words), 6)):
            if not who:
                return
            daemon, session = dice.choice(who)
            new = self.words.word(dice)
            params = {"file_path": path, "old_string": word, "new_string": new, "session_id": session}
            asked.append((daemon, self.peers[daemon].begin("fileops/edit", params), session, word, new))
            if dice.random() < 0.5:
                self.peers[daemon].begin("fileops/read", {"file_path": path, "session_id": OBSERVER})
        done = list[tuple[str, str]]()
        for daemon, msg_id, session, word, new in asked:
            code, result = self.peers[daemon].outcome(msg_id)
            self._note("batch", daemon, session, code, path, word, new)
            mixed = {"not_encodable"} if mixes_encodings(before, word, new) else {"no_change" if word == new else "ok"}
            require(code in {*mixed, *CHANGED, "no_match", "multiple_matches"}, f"one edit of many: {code}")
            if code == "ok":
                done.append((word, new))
                self.oracle.applied[result["details"]["edit_id"]] = Applied(path, daemon)
        after = Path(path).read_bytes()
        expected = text
        for word, new in done:
            expected = expected.replace(word, new)
        judge_rewriting(before, expected, after)
        self._put_in_model(path, after)
        for (_, _, seen), sight in self.oracle.sights.items():
            if seen == path:
                sight.text = None
                sight.is_sure = False
                sight.n_foreign = None

    # --- undo ----------------------------------------------------------------------------------------------------

    def undo(self, dice: random.Random) -> None:
        if self.oracle.applied:
            self._undo(dice, dice.choice(list(self.oracle.applied)[-6:]))

    def undo_again(self, dice: random.Random) -> None:
        """By both daemons, or twice by one."""
        if self.oracle.applied:
            edit_id = dice.choice(list(self.oracle.applied)[-3:])
            self._undo(dice, edit_id)
            self._undo(dice, edit_id)

    def _undo(self, dice: random.Random, edit_id: str) -> None:
        edit = self.oracle.applied[edit_id]
        daemon = edit.daemon if dice.random() < 0.7 else 1 - edit.daemon
        self._ask_undo(dice, daemon, {"edit_id": edit_id, "session_id": dice.choice(self.sessions[daemon])}, edit)

    def undo_session(self, dice: random.Random) -> None:
        daemon = dice.choice(list(self.sessions))
        self._ask_undo(dice, daemon, {"session_id": dice.choice(self.sessions[daemon])}, None)

    def _ask_undo(self, dice: random.Random, daemon: int, which: dict[str, str], edit: Applied | None) -> None:
        """edit: the one to undo, if it is one."""
        for path in self.paths:
            self._settle(path)
        before = {path: self.oracle.present(daemon, path) for path in self.paths}
        session = which["session_id"]
        turn = Turn(
            daemon,
            session,
            None,
            dice.choice(["once", "once", "once", "reject", "malformed"]),
            dice.choice(["oblige", "oblige", "oblige", "refuse"]),
            may_ask=any(self._must_ask(daemon, session, path) for path in self.paths),
        )
        turn.msg_id = self.peers[daemon].begin("fileops/undo", which)
        code, result = self._served(turn)
        self._note("undo", daemon, session, code, which, turn)
        refusals = {"undo_conflict", "modified_externally"}
        refusals |= turn.refusals
        refusals |= {"apply_refused"} if self.oracle.documents else set()
        is_doubtful = any(self._is_doubtful(daemon, path) for path in self.paths)
        require(code in {"ok", *refusals} or is_doubtful, f"an undo was answered with {code}: {result}")
        if code != "ok":
            for path in self.paths:
                require(same(before[path], self.oracle.present(daemon, path)), f"an undo that failed changed {path}")
            if code == "undo_conflict" and edit is not None and edit.is_known and edit.daemon == daemon:
                stands = same(before[edit.path], edit.after) and self.oracle.disk[edit.path] == edit.disk
                require(edit.is_undone or not stands, f"the last edit of a file was not undone: {edit}")
            return
        require(None not in turn.decided.values(), f"undone, though the person said no ({turn.decision})")
        for file in result["details"]["files"]:
            self._judge_undone(turn, before, file)

    def _judge_undone(self, turn: Turn, before: dict[str, Content], file: dict[str, Any]) -> None:
        daemon, session = turn.daemon, turn.session
        path = file["file_path"].replace("/link", "/f0")
        was, is_removed = before[path], file["outcome"] == "removed"
        if is_removed:
            self._put_in_model(path, None)
        after = self._written(turn, path, was, file["applied_to"]) if file["edit_id"] and not is_removed else None
        edits = [self.oracle.applied[edit_id] for edit_id in file["undone"]]
        if edits and all(one.is_known for one in edits):
            self.oracle.judge_undo(edits, was, after if file["edit_id"] else was)
        for one in edits:
            one.is_undone = True
        if file["edit_id"]:
            sight = self.oracle.sights.pop((daemon, session, path), None)
            self._applied(daemon, session, path, was, after, file["edit_id"])
            del self.oracle.sights[daemon, session, path]
            if sight is not None:  # it can go on where it could before
                could_go_on = sight.text in {None, shown(was)}
                self.oracle.sights[daemon, session, path] = Sight(None if could_go_on else sight.text, is_sure=False)

    # --- the person ----------------------------------------------------------------------------------------------

    def open(self, dice: random.Random) -> None:
        path = dice.choice(self.paths)
        if path not in self.oracle.documents:
            self._open(dice, path)

    def _open(self, dice: random.Random, path: str) -> None:
        data = self.oracle.disk[path]
        text = text_of(data) if data is not None else f"{self.words.line(dice)}\n"
        if dice.random() < 0.15:  # unsaved text of an earlier day
            text = self._typed(dice, text)
        document = Document(path, text, 1, touched=True)
        self.oracle.documents[path] = document
        self._tell_open(document)
        self.oracle.moved(path)

    def _tell_open(self, document: Document) -> None:
        item = {
            "uri": f"file://{document.path}",
            "languageId": "plaintext",
            "version": document.version,
            "text": document.text,
        }
        document.base = None
        self._trace("opened", document.path, document.text)
        self.peers[0].notify("textDocument/didOpen", {"textDocument": item})
        self._judge_touch(document)

    def open_and_look_at_once(self, dice: random.Random) -> None:
        path = dice.choice(self.paths)
        if path in self.oracle.documents or self.oracle.disk[path] is None:
            return
        self._open(dice, path)
        peer = self.peers[0]
        begun = [
            peer.begin("fileops/read", {"file_path": path, "session_id": session})
            for session in (*self.sessions[0], OBSERVER)
        ]
        self._settle(path)
        self.write_at(dice, path)
        for msg_id in begun:  # reads overtake each other, and the last that is answered counts
            peer.answer(msg_id)
        for session in self.sessions[0]:
            self._read(0, session, path)

    def open_without_descriptors(self, dice: random.Random) -> None:
        """For a moment the daemon can open no file."""
        path = dice.choice(self.paths)
        if path in self.oracle.documents or self.oracle.disk[path] is None:
            return
        for known in self.paths:
            self._settle(known)
        peer = self.peers[0]
        with peer.starved():
            self._open(dice, path)
            peer.answer(peer.begin("fileops/tools", {}))
            document = self.oracle.documents[path]
            document.is_doubtful = True
            self._change(document, self._typed(dice, document.text))
            peer.answer(peer.begin("fileops/tools", {}))
        self._change(document, self._typed(dice, document.text))
        for session in self.sessions[0]:
            self._read(0, session, path)

    def type(self, dice: random.Random) -> None:
        if self.oracle.documents:
            document = self.oracle.documents[dice.choice(list(self.oracle.documents))]
            self._change(document, self._typed(dice, document.text))

    def reload(self, dice: random.Random) -> None:
        """Or revert: the document shows what is on disk."""
        for document in list(self.oracle.documents.values()):
            data = self.oracle.disk[document.path]
            if data is not None and dice.random() < 0.7 and document.text != text_of(data):
                self._change(document, text_of(data), is_whole=dice.random() < 0.7)

    def reload_before_a_write(self, dice: random.Random) -> None:
        """The disk moves again soon after a reload: no sooner, at last, than any daemon needs to look."""
        path = dice.choice(self.paths)
        document, data = self.oracle.documents.get(path), self.oracle.disk[path]
        if document is None or document.is_doubtful or data is None:
            return
        self._settle(path)
        for pause_s in (0.05, 0.5, 3.0):
            self.write_at(dice, path)
            self._change(document, text_of(self.oracle.disk[path] or b""), is_whole=True)
            self._unlooked.discard(path)
            self._pause(pause_s)
            self.write_at(dice, path)
            result = self.peers[0].result("fileops/read", {"file_path": path, "session_id": OBSERVER})
            self._looked(0, path)
            if result["details"]["source"] == "disk":
                return
            document.touched = True  # it may have been too early to decide
        raise Wrong(f"a reload is taken for typing: {document}, on disk {self.oracle.disk[path]!r}")

    def save(self, dice: random.Random) -> None:
        if self.oracle.documents:
            document = self.oracle.documents[dice.choice(list(self.oracle.documents))]
            data = self.oracle.disk[document.path] or b""
            codec, bom = codec_of(data)
            is_new = not same(self.oracle.present(0, document.path), document.text)
            self._write_file(dice, document.path, bom + document.text.encode(codec))
            document.base = document.text
            document.touched = False
            if "\ufffd" in document.text:  # for all the daemon knows, the editor reads it in another encoding
                self._unlooked.add(document.path)
            self._trace("saved", document.path, document.text)
            self.peers[0].notify("textDocument/didSave", {"textDocument": {"uri": f"file://{document.path}"}})
            self.oracle.moved(document.path, daemons=(0, 1) if is_new else (1,))

    def close_document(self, dice: random.Random) -> None:
        if self.oracle.documents:
            path = dice.choice(list(self.oracle.documents))
            self._trace("closed", path, self.oracle.documents.pop(path).text)
            self._unlooked.discard(path)
            self.peers[0].notify("textDocument/didClose", {"textDocument": {"uri": f"file://{path}"}})
            self.oracle.moved(path, daemons=(0,))

    # --- other programs ------------------------------------------------------------------------------------------

    def write(self, dice: random.Random) -> None:
        self.write_at(dice, dice.choice(self.paths))

    def write_at(self, dice: random.Random, path: str) -> None:
        data = self.oracle.disk[path]
        if data is None or dice.random() < 0.2:
            new = self.words.content(dice, dice.choice(FORMATS))
        else:
            codec, bom = codec_of(data)
            text = self._typed(dice, raw(data))
            new = bom + text.encode(codec, "surrogateescape" if codec == "utf-8" else "surrogatepass")
        self._foreign(dice, path, new)

    def write_back(self, dice: random.Random) -> None:
        """The earlier content, byte for byte: the person's Ctrl-Z and save, a checkout."""
        path = dice.choice(self.paths)
        if self._past[path]:
            self._foreign(dice, path, dice.choice(self._past[path][-4:]))

    def truncate(self, dice: random.Random) -> None:
        path = dice.choice(self.paths)
        data = self.oracle.disk[path]
        if data:
            codec, bom = codec_of(data)
            text = raw(data)
            rest = text[: dice.randrange(len(text) + 1)]
            kept = bom + rest.encode(codec, "surrogateescape" if codec == "utf-8" else "surrogatepass")
            self._foreign(dice, path, kept if dice.random() < 0.7 else b"")

    def delete(self, dice: random.Random) -> None:
        path = dice.choice(self.paths)
        if self.oracle.disk[path] is not None:
            self._settle(path)
            os.unlink(path)
            self._put_in_model(path, None)
            self.oracle.moved(path)

    def touch(self, dice: random.Random) -> None:
        path = dice.choice(self.paths)
        if self.oracle.disk[path] is not None:
            os.utime(path, (dice.randrange(10**9), dice.randrange(10**9)))
            self.oracle.moved(path)

    def _foreign(self, dice: random.Random, path: str, data: bytes) -> None:
        self._settle(path)
        self._write_file(dice, path, data)
        self.oracle.moved(path)
        self._settle(path)

    def _write_file(self, dice: random.Random, path: str, data: bytes) -> None:
        """In place, in place with the old time, or renamed over."""
        self._trace("written", path, data)
        old = self.oracle.disk[path]
        if old is not None and len(old) == len(data) and dice.random() < 0.7:
            stat = os.stat(path)
            with open(path, "r+b") as file:
                file.write(data)
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        elif old is None or dice.random() < 0.5:
            Path(path).write_bytes(data)
        else:
            other = Path(f"{self.folder}/other")
            other.write_bytes(data)
            other.rename(path)
        self._put_in_model(path, data)

    # --- sessions and daemons ------------------------------------------------------------------------------------

    def set_mode(self, dice: random.Random) -> None:
        daemon, session, _ = self._who(dice)
        mode = dice.choice(["default", "default", "auto_edit", "yolo"])
        self.peers[daemon].result("fileops/setApprovalMode", {"session_id": session, "mode": mode})
        self.oracle.modes[daemon, session] = mode

    def close_session(self, dice: random.Random) -> None:
        daemon, session, _ = self._who(dice)
        self._close_session(daemon, session)

    def _close_session(self, daemon: int, session: str) -> None:
        self.peers[daemon].result("fileops/closeSession", {"session_id": session})
        self.oracle.modes.pop((daemon, session), None)
        for path in self.paths:
            self.oracle.sights.pop((daemon, session, path), None)
        mode = self.peers[daemon].result("fileops/approvalMode", {"session_id": session})["mode"]
        require(mode == "default", f"a session of a closed one's name is in the mode {mode}")

    def restart(self, dice: random.Random) -> None:
        daemon = dice.choice(list(self.sessions))
        self.peers[daemon].shut_down()
        self._start_again(daemon)
        self._reopen(daemon)

    def kill(self, dice: random.Random) -> None:
        """SIGKILL, somewhere in an edit."""
        daemon = dice.choice(list(self.sessions))
        session, path = dice.choice(self.sessions[daemon]), dice.choice(self.paths)
        self._settle(path)
        before = self.oracle.present(daemon, path)
        if not isinstance(before, bytes) or self._must_ask(daemon, session, path):
            self.peers[daemon].kill()
            self._start_again(daemon)
            self._reopen(daemon)
            return
        self._read(daemon, session, path)
        old, new = self.words.change(dice, shown(before))
        peer = self.peers[daemon]
        params = {"file_path": path, "old_string": old, "new_string": new, "session_id": session}
        msg_id = peer.begin("fileops/edit", params)
        self._pause(dice.random() * 0.02)
        peer.kill()
        code = peer.outcome(msg_id)[0] if peer.answered(msg_id) else "killed"
        self._note("kill", daemon, session, code, path, old, new)
        self._start_again(daemon)
        after = Path(path).read_bytes()
        if code == "ok" or (code == "killed" and after != before):
            judge_splice(before, old, new, after)
        else:
            require(after == before, f"an edit that was refused changed {before!r} to {after!r}")
        self._put_in_model(path, after)
        self.oracle.moved(path)
        self._reopen(daemon)

    def _start_again(self, daemon: int) -> None:
        """A new daemon knows nothing of what was read, and no mode that a person gave."""
        self.oracle.sights = {key: sight for key, sight in self.oracle.sights.items() if key[0] != daemon}
        self.oracle.modes = {key: mode for key, mode in self.oracle.modes.items() if key[0] != daemon}
        self._start(daemon)

    def _reopen(self, daemon: int) -> None:
        """The editor's documents; and what was acknowledged has to be in the history."""
        if daemon == 0:
            for document in self.oracle.documents.values():
                document.is_doubtful = False
                self._tell_open(document)
        edits = self.peers[daemon].result("fileops/history", {"limit": 100_000})["edits"]
        lost = self.oracle.applied.keys() - {edit["edit_id"] for edit in edits}
        require(not lost, f"the history has lost {lost}")
        for edit in edits:
            path = edit["file_path"].replace("/link", "/f0")
            self.oracle.applied.setdefault(edit["edit_id"], Applied(path, daemon))

    def _start(self, daemon: int) -> None:
        capabilities: dict[str, Any] = {"general": {"positionEncodings": [self._encoding]}}
        if daemon == 0:
            capabilities["workspace"] = {"applyEdit": True, "workspaceEdit": {"documentChanges": True}}
            capabilities["experimental"] = {"fileops": {"confirm_edit": self._asks}}
        self.peers[daemon] = Peer(
            self.root, f"{self.folder}/state", self._on_question, capabilities, self._options, is_hasty=self._is_hasty
        )

    # --- what the daemon asks ------------------------------------------------------------------------------------

    def _served(self, turn: Turn) -> tuple[str, dict[str, Any]]:
        self._turn = turn
        try:
            return self.peers[turn.daemon].outcome(turn.msg_id)
        finally:
            self._turn = None

    def _on_question(self, peer: Peer, message: Message) -> None:
        turn, params, msg_id = self._turn, message["params"], message["id"]
        if turn is None:
            raise Wrong(f"nobody was to be asked: {message}")
        if message["method"] == "workspace/applyEdit":
            self._apply(peer, turn, msg_id, params)
        else:
            require(message["method"] == "fileops/confirmEdit" and turn.may_ask, f"nobody was to be asked: {message}")
            self._decide(peer, turn, msg_id, params)

    def _decide(self, peer: Peer, turn: Turn, msg_id: object, params: dict[str, Any]) -> None:
        path = params["file_path"].replace("/link", "/f0")
        before, proposed = self.oracle.present(turn.daemon, path), _told(params["proposed_text"])
        turn.n_asked += 1
        require(_told(params["original_text"]) == shown(before), f"asked about {params} where {before!r} stands")
        is_again = path in turn.decided
        if is_again:
            self._judge_second_question(turn, path, before, params)
        else:
            require(turn.plan is None or proposed == turn.plan, f"asked: {params} where {turn.plan!r} was proposed")
        turn.decided[path] = proposed
        turn.was = before
        if turn.meanwhile is not None and not is_again:
            turn.meanwhile()
        turn.stood = self.oracle.present(turn.daemon, path)
        decision = turn.decision if not is_again else "once" if params["hunks"] else "reject"
        self._answer(peer, turn, msg_id, path, params, decision)
        turn.dropped |= {*words_of(proposed)} - {*words_of(shown(before)), *words_of(turn.decided[path] or "")}

    def _judge_second_question(self, turn: Turn, path: str, present: Content, params: dict[str, Any]) -> None:
        """R-REV-8: what the person dropped is not proposed again, and what others wrote is in the proposal."""
        require(turn.has_moved, f"asked again, though nothing has changed: {params}")
        proposed = set(words_of(_told(params["proposed_text"])))
        again = turn.dropped & proposed - {*words_of(shown(present))}
        require(not again, f"{again} was dropped, and is proposed again: {params}")
        lost = {*words_of(shown(present))} - {*words_of(shown(turn.was))} - proposed
        require(not lost, f"{lost} of others is taken out of {path}: {params}")

    def _answer(self, peer: Peer, turn: Turn, msg_id: object, path: str, params: dict[str, Any], decision: str) -> None:
        proposed = _told(params["proposed_text"])
        match decision:
            case "once":
                peer.reply(msg_id, result={"outcome": "proceed_once"})
            case "always":
                peer.reply(msg_id, result={"outcome": "proceed_always"})
                if not turn.is_closed:
                    self.oracle.modes[turn.daemon, turn.session] = "auto_edit"
            case "modify":
                turn.decided[path] = text = f"{proposed}by_hand_{turn.msg_id}\n"
                peer.reply(msg_id, result={"outcome": "modify", "text": text})
            case "malformed":
                turn.refuse(path, "undecided")
                peer.reply(msg_id, result=json.loads(NO_ANSWERS[turn.msg_id % len(NO_ANSWERS)]))
            case "fail":
                turn.refuse(path, "undecided")
                peer.reply(msg_id, error={"code": -32000, "message": "the reviewer has gone home"})
            case "cancel":
                turn.refuse(path, "cancelled")
                peer.cancel(turn.msg_id)
                peer.reply(msg_id, result={"outcome": "proceed_always"})  # too late
            case _:
                turn.refuse(path, "rejected")
                peer.reply(msg_id, result={"outcome": "cancel"})

    def _apply(self, peer: Peer, turn: Turn, msg_id: object, params: dict[str, Any]) -> None:
        [change] = params["edit"]["documentChanges"]
        path = change["textDocument"]["uri"].removeprefix("file://")
        document = self.oracle.documents[path]
        turn.n_applied += 1
        if turn.applying == "type first":
            self._change(document, f"{document.text}late_{turn.msg_id}\n")
        if turn.applying == "refuse" or change["textDocument"]["version"] != document.version:
            peer.reply(msg_id, result={"applied": False, "failureReason": "not now"})
            return
        text = editor.edited(document.text, change["edits"], self._encoding)
        turn.applied[path] = text
        self._change(document, text, is_whole=turn.msg_id % 2 == 0)
        if turn.applying == "type afterwards":
            self._change(document, f"{document.text}late_{turn.msg_id}\n")
        peer.reply(msg_id, result={"applied": turn.applying != "say no"})

    # --- helpers -------------------------------------------------------------------------------------------------

    def _who(self, dice: random.Random) -> tuple[int, str, str]:
        daemon = 0 if dice.random() < 0.65 else 1
        return daemon, dice.choice(self.sessions[daemon]), dice.choice(self.paths)

    def _name(self, dice: random.Random, path: str) -> str:
        return f"{self.root}/link" if path == self.paths[0] and dice.random() < 0.2 else path

    def _must_ask(self, daemon: int, session: str, path: str) -> bool:
        if daemon != 0 or not self._asks:
            return False
        mode = self.oracle.modes.get((daemon, session), "default")
        has_links = os.path.exists(path) and os.stat(path).st_nlink > 1  # another name may be a protected one
        return mode == "default" or (mode == "auto_edit" and has_links)

    def _behaviour(
        self, dice: random.Random, daemon: int, session: str, path: str
    ) -> tuple[str, str, Callable[[], None] | None]:
        decisions = {
            "once": 6,
            "always": 1,
            "reject": 1,
            "modify": 2,
            "malformed": 2,
            "fail": 1,
            "cancel": 1,
        }
        applyings = {"oblige": 6, "refuse": 1, "type first": 1, "type afterwards": 1, "say no": 1}
        decision, applying = _weighed(dice, decisions), _weighed(dice, applyings)
        document = self.oracle.documents.get(path)

        def close_the_session() -> None:
            self._close_session(daemon, session)
            if self._turn is not None:
                self._turn.is_closed = True

        happenings: list[Callable[[], None]] = [
            lambda: self.write_at(dice, path),
            lambda: self._read(daemon, OBSERVER, path),
        ]
        if document is not None:
            happenings.append(lambda: self._change(document, self._typed(dice, document.text)))
        if decision == "always":
            happenings = [close_the_session]
        return decision, applying, dice.choice(happenings) if dice.random() < 0.3 else None

    def _typed(self, dice: random.Random, text: str) -> str:
        """With another word, as a person or another program writes it: with the line ends of the text."""
        old, new = self.words.change(dice, text)
        newline = "\r\n" if "\r\n" in text else "\n"
        if old not in text:
            return f"{text}{self.words.line(dice)}{newline}"
        return text.replace(old, new if "\r" in new else new.replace("\n", newline), 1)

    def _change(self, document: Document, text: str, *, is_whole: bool = False) -> None:
        if text in document.past:  # back again: it matters what the daemon saw in between
            self._settle(document.path)
        document.past |= {document.text, text}
        before = self.oracle.present(0, document.path)
        told = {"text": text} if is_whole else editor.change(document.text, text, self._encoding)
        document.text = text
        document.touched = True
        document.version += 1
        self._trace("changed", document.path, text)
        named = {"uri": f"file://{document.path}", "version": document.version}
        self.peers[0].notify("textDocument/didChange", {"textDocument": named, "contentChanges": [told]})
        self._judge_touch(document)
        if not same(before, self.oracle.present(0, document.path)):
            self.oracle.moved(document.path, daemons=(0,))

    def _judge_touch(self, document: Document) -> None:
        data = self.oracle.disk[document.path]
        if data is not None and lf(document.text) == shown(data):
            document.base = document.text
            self._unlooked.add(document.path)
        document.touched = document.text != document.base

    def _looked(self, daemon: int, path: str) -> None:
        if daemon == 0:
            self._unlooked.discard(path)

    def _settle(self, path: str) -> None:
        """After a didOpen and an immediate change on disk, it is unknown which of both the daemon sees first."""
        if path in self._unlooked:
            self._read(0, OBSERVER, path)

    def _is_doubtful(self, daemon: int, path: str) -> bool:
        document = self.oracle.documents.get(path)
        return daemon == 0 and document is not None and document.is_doubtful

    def _written(self, turn: Turn, path: str, before: Content, applied_to: str) -> Content:
        """What an accepted edit left."""
        expected = "buffer" if isinstance(before, str) else "disk"
        require(applied_to == expected, f"applied to the {applied_to}, not to the {expected}")
        if isinstance(before, str):
            return turn.applied.get(path, self.oracle.documents[path].text)
        after = Path(path).read_bytes()
        self._put_in_model(path, after)
        return after

    def _applied(
        self, daemon: int, session: str, path: str, before: Content, after: Content, edit_id: str | None
    ) -> None:
        self.oracle.moved(path)
        is_last = same(after, self.oracle.present(daemon, path))
        self.oracle.n_own[daemon, path] += 1
        n_foreign = self.oracle.n_foreign(daemon, path)
        self.oracle.sights[daemon, session, path] = Sight(shown(after), is_sure=is_last, n_foreign=n_foreign)
        require(edit_id or same(before, after), "a change without an id")
        if edit_id:
            self.oracle.applied[edit_id] = Applied(path, daemon, before, after, self.oracle.disk[path])

    def _put(self, path: str, data: bytes) -> None:
        Path(path).write_bytes(data)
        self._put_in_model(path, data)

    def _put_in_model(self, path: str, data: bytes | None) -> None:
        old = self.oracle.disk.get(path)
        if old is not None:
            self._past[path].append(old)
        self.oracle.disk[path] = data
        document = self.oracle.documents.get(path)
        if document is not None and document.touched:
            self._judge_touch(document)  # it may read as the disk does now: by accident, or after an undo

    def _trace(self, what: str, path: str, content: Content) -> None:
        self.trace.append(f"      {what} {os.path.basename(path)}: {content!r}")

    def _check(self) -> None:
        for path, data in self.oracle.disk.items():
            actual = Path(path).read_bytes() if os.path.lexists(path) else None
            require(actual == data, f"{path} holds {actual!r}, not {data!r}")
        until = time.monotonic() + PATIENCE_S
        while strange := file_names(self.root) - {"link", *(os.path.basename(path) for path in self.paths)}:
            require(time.monotonic() < until, f"left behind: {strange}")
            self._pause(0.01)  # what was cancelled may clear up behind its answer

    def _note(self, what: str, daemon: int, session: str, code: str, *more: object) -> None:
        self.outcomes[f"{what}: {code}"] += 1
        told = " ".join(f"{one}" for one in more).replace(f"{self.root}/", "")
        self.trace.append(f"    {daemon}{session} {what} {told} => {code}")

    @staticmethod
    def _pause(seconds: float) -> None:
        time.sleep(seconds)


def _told(text: str | None) -> str:
    """A text in a question has the file's mark and line ends."""
    return lf((text or "").removeprefix("\ufeff"))


def _weighed(dice: random.Random, weights: dict[str, int]) -> str:
    return dice.choices(list(weights), list(weights.values()))[0]
