"""Writes table.json, held_out.json and tree.json: `python -m bench.reliability.tables`. Seeded, so always the same.

A vocabulary is names, words, an indentation and a language. The held-out table asks the same questions with another
one: no rule of the server was made while looking at its results.
"""

import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from msgspec.structs import replace

from bench.reliability.scenario import (
    HELD_OUT,
    TABLE,
    TREE,
    Call,
    EditCall,
    How,
    Kind,
    MultiCall,
    PatchCall,
    PatchHunk,
    Scenario,
    Task,
    Tree,
    WriteCall,
    to_json,
)

FAMILY_SEED = 29
WIDTHS = (15, 1, 1, 8, 1, 2, 6, 1, 1, 5, 2, 1, 4, 1, 2, 3, 1, 1, 3, 2, 1, 1, 2, 1, 1, 2, 1, 1)
N_AGENTS, N_TASKS, N_FUNCTIONS = 15, 71, 10


@dataclass(frozen=True)
class Vocabulary:
    """lang: "py" or "js". unit: one level of indentation. names: of functions. words: in texts, different lengths."""

    lang: Literal["py", "js"]
    unit: str
    names: Sequence[str]
    words: Sequence[str]
    argument: str
    step: int

    def comment(self, text: str) -> str:
        return f"# {text}" if self.lang == "py" else f"// {text}"

    def let(self, name: str, value: object) -> str:
        return f"{name} = {value}" if self.lang == "py" else f"const {name} = {value};"

    def branch(self, condition: str) -> str:
        return f"if {condition}:" if self.lang == "py" else f"if ({condition}) {{"

    @property
    def closing(self) -> tuple[str, ...]:
        return () if self.lang == "py" else ("}",)

    def function(self, name: str, *body: str) -> str:
        """body: lines; each tab at the beginning of one is one more level."""
        head = f"def {name}({self.argument}):" if self.lang == "py" else f"function {name}({self.argument}) {{"
        lines = (self.unit * (1 + len(line) - len(line.lstrip("\t"))) + line.lstrip("\t") for line in body)
        return "\n".join((head, *lines, *self.closing)) + "\n"

    def functions(self, n: int, tag: str) -> list[str]:
        """n different functions with a body of three lines."""
        return [
            self.function(
                f"{self.names[index % len(self.names)]}_{tag}{index}",
                self.let("step", 100 + self.step * index),
                f"note('{self.words[index % len(self.words)]} {tag}{index}')",
                f"return step + {index}",
            )
            for index in range(n)
        ]


PUBLIC = Vocabulary(
    lang="py",
    unit="    ",
    names=("load_cart", "apply_voucher", "ship_parcel", "count_stock", "mail_receipt"),
    words=("basket", "coupon", "courier", "shelf", "invoice"),
    argument="order",
    step=7,
)
OTHER = Vocabulary(
    lang="js",
    unit="\t",
    names=("openGate", "tuneEngine", "paintHull", "logTide", "dropAnchor"),
    words=("harbour", "rudder", "lighthouse", "keel", "compass"),
    argument="ship",
    step=11,
)


def replaced(text: str, old: str, new: str, at: int | None = None) -> str:
    """Replace the only place of `old`, or the at-th (from 1)."""
    n = text.count(old)
    if n != 1 if at is None else n < at:
        raise ValueError(f"{n} places of {old!r}")
    start = -1
    for _ in range(at or 1):
        start = text.index(old, start + 1)
    return text[:start] + new + text[start + len(old) :]


class _Table:
    """Collects scenarios, and the texts that several of them share."""

    def __init__(self, words: Vocabulary) -> None:
        self.words = words
        self.scenarios: list[Scenario] = []
        self.functions = words.functions(12, "a")
        self.big = "\n".join(self.functions)
        self.meant_function = self.functions[6].splitlines()
        self.meant = self.meant_function[1].strip()
        self.number = self.meant.partition("=")[2].strip(" ;")
        self.meant_new = self.meant.replace(self.number, str(int(self.number) + 5000))
        self.lines = [words.let(f"{word}_{index}", 10 + index) for index, word in enumerate(words.words)]
        self.new_lines = [words.let(f"{word}_{index}", 90 + index) for index, word in enumerate(words.words)]
        self.five = "".join(f"{line}\n" for line in self.lines)

    def add(
        self,
        name: str,
        group: str,
        kind: Kind,
        before: str,
        now: str | None,
        call: Call,
        goal: str | None,
        *,
        same: bool = True,
        right: Sequence[str] | None = None,
        path: str | None = None,
        read: Literal["whole", "none"] | tuple[int, int] = "whole",
        by: Literal["program", "agent"] = "program",
        how: How = "write",
        why: str = "",
    ) -> None:
        """now: None for a file that others did not change (or deleted, by `how`)."""
        if right is None:
            right = () if kind == "refuse" or goal is None else (goal,)
        self.scenarios.append(
            Scenario(
                id=name,
                group=group,
                kind=kind,
                path=path or f"{name}.{self.words.lang}",
                read=read,
                by=by,
                how=how,
                before=before,
                now=before if now is None and how != "delete" else now,
                call=call,
                right=tuple(right),
                goal=goal,
                same=same and group != "slip",
                why=why,
            )
        )


def edit(old: str, new: str, *, takes_all: bool = False) -> EditCall:
    return EditCall(old, new, takes_all)


def multi(*pairs: tuple[str, str]) -> MultiCall:
    return MultiCall(pairs)


def patch(*hunks: tuple[str, Sequence[str]]) -> PatchCall:
    return PatchCall(tuple(PatchHunk(header, tuple(lines)) for header, lines in hunks))


def scenarios_of(words: Vocabulary) -> list[Scenario]:
    table = _Table(words)
    for part in (_far, _near, _formatted, _replaced_whole, _by_agents, _changed_meaning, _traps):
        part(table)
    for part in (_ambiguous, _slips, _more_slips, _bytes, _several, _patches, _reads):
        part(table)
    return table.scenarios


# --- stale: others changed the file since the read ----------------------------------------------------------------


def _far(t: _Table) -> None:
    words, big, call = t.words, t.big, edit(t.meant, t.meant_new)
    above = "\n".join(words.functions(2, "z")) + "\n" + big
    below = big + "\n" + words.function("late_addition", "return 1")
    without = big.replace(t.functions[1] + "\n", "")
    for name, now in (("far-above", above), ("far-below", below), ("far-removal", without)):
        t.add(name, "stale", "land", big, now, call, replaced(now, t.meant, t.meant_new))
    before = "\n".join(t.functions[:6])
    now = "\n".join(t.functions[index] for index in (0, 3, 1, 4, 5, 2))
    old = t.functions[2].splitlines()[1].strip()
    new = old.replace("=", "= 2 *")
    t.add("function-moved", "stale", "land", before, now, edit(old, new), replaced(now, old, new),
          why="the whole function moved within the file, unchanged")  # fmt: skip


def _near(t: _Table) -> None:
    words, five, call = t.words, t.five, edit(t.lines[2], t.new_lines[2])
    beside = {
        "two-away-in-five": (replaced(five, t.lines[4], t.new_lines[4]), "two lines away in a file of five lines"),
        "next-line": (replaced(five, t.lines[3], t.new_lines[3]), "the neighbouring line of data changed"),
        "line-above": (replaced(five, t.lines[2], words.comment("see the price list") + "\n" + t.lines[2]), ""),
        "line-below": (replaced(five, t.lines[2], t.lines[2] + "\n" + words.let("extra", 1)), ""),
    }
    for name, (now, why) in beside.items():
        goal = replaced(now, t.lines[2], t.new_lines[2])
        # A line that an unknown program puts directly beside the meant one gives the same two texts as if it had
        # replaced the meant line, and brought the same words in beside it: a refusal is right as well.
        kind: Kind = "land" if name == "two-away-in-five" else "either"
        t.add(f"{name}-by-program", "stale", kind, five, now, call, goal, why=why)
        t.add(f"{name}-by-agent", "stale", "land", five, now, call, goal, by="agent", why=why)
    inside = "\n".join(t.meant_function[:2]) + "\n"
    line = words.unit + words.let("fresh", 1) + "\n"
    now = replaced(t.big, t.meant_function[2] + "\n", t.meant_function[2] + "\n" + line)
    quote = t.meant_function[1] + "\n" + t.meant_function[2] + "\n"
    t.add("line-below-a-quote", "stale", "land", t.big, now, edit(quote, quote.replace(t.number, "4242")),
          replaced(now, t.number, "4242"), why="both lines of the quote are still there")  # fmt: skip
    now = replaced(t.big, inside, inside.partition("\n")[0] + "\n" + line + inside.partition("\n")[2])
    old = t.meant_function[3]
    new = old.replace("step", "2 * step")
    t.add("two-lines-above", "stale", "land", t.big, now, edit(old, new), replaced(now, old, new),
          why="a line came in at the beginning of the same function")  # fmt: skip


def _formatted(t: _Table) -> None:
    words, big, five, call = t.words, t.big, t.five, edit(t.meant, t.meant_new)
    unit = words.unit
    wide = unit * 2 if unit != "\t" else "  "
    now = "\n".join(wide * ((len(line) - len(line.lstrip())) // len(unit)) + line.lstrip() for line in big.split("\n"))
    goal = replaced(now, t.meant, t.meant_new)
    t.add("reindented-token", "stale", "land", big, now, call, goal, why="a formatter re-indents the whole file")
    old = "".join(f"{line}\n" for line in t.meant_function[1:3])
    t.add("reindented-block", "stale", "land", big, now, edit(old, old.replace(t.meant, t.meant_new)), goal, same=False,
          why="the same, and the text of the edit has the old indentation")  # fmt: skip
    ragged = five.replace(t.lines[0], t.lines[0] + "  ").replace(t.lines[3], t.lines[3] + " ")
    five_call, five_goal = edit(t.lines[2], t.new_lines[2]), replaced(five, t.lines[2], t.new_lines[2])
    t.add("blanks-stripped-on-save", "stale", "land", ragged, five, five_call, five_goal)
    t.add("crlf-came", "stale", "land", big, big.replace("\n", "\r\n"), call,
          replaced(big, t.meant, t.meant_new).replace("\n", "\r\n"))  # fmt: skip
    two = "\n".join(t.meant_function[:2])
    t.add("crlf-went", "stale", "land", big.replace("\n", "\r\n"), big, edit(two, two.replace(t.number, "77")),
          replaced(big, t.number, "77"))  # fmt: skip
    t.add("final-newline-came", "stale", "land", five[:-1], five, edit(t.lines[1], t.new_lines[1]),
          replaced(five, t.lines[1], t.new_lines[1]))  # fmt: skip


def _replaced_whole(t: _Table) -> None:
    words, big, call = t.words, t.big, edit(t.meant, t.meant_new)
    goal = replaced(big, t.meant, t.meant_new)
    t.add("reverted", "stale", "land", big, big, call, goal, how="revert", why="a change was made and taken back")
    t.add("touched", "stale", "land", big, big, call, goal, how="touch")
    t.add("replaced-same-bytes", "stale", "land", big, big, call, goal, how="rename", why="another inode")
    changed = t.functions[0].replace("return", "return 2 +")
    now = "\n".join((words.comment("branch: release"), changed, *t.functions[2:9], *words.functions(3, "r")))
    t.add("branch-switched", "stale", "land", big, now, call, replaced(now, t.meant, t.meant_new), how="rename",
          why="another branch was checked out; the function is the same there")  # fmt: skip
    now = replaced(big, t.functions[3], t.functions[3].replace("note(", "log("))
    t.add("whole-write-stale", "stale", "either", big, now, WriteCall(replaced(big, t.meant, t.meant_new)),
          replaced(now, t.meant, t.meant_new), same=False,
          why="the model writes the whole file from what it read; others changed another function")  # fmt: skip


def _by_agents(t: _Table) -> None:
    words, five, big = t.words, t.five, t.big
    now = "import json\n" + five
    t.add("import-near", "stale", "land", five, now, edit(t.lines[1], t.new_lines[1]),
          replaced(now, t.lines[1], t.new_lines[1]), by="agent")  # fmt: skip
    items = "FRUIT = [\n" + "".join(f"{words.unit}'{word}',\n" for word in words.words) + "]\n"
    pear, plum = f"{words.unit}'pear',\n", f"{words.unit}'plum',\n"
    one, two = (f"{words.unit}'{words.words[index]}',\n" for index in (1, 2))
    now = replaced(items, one, one + pear)
    t.add("two-agents-one-list", "stale", "land", items, now, edit(two, two + plum), replaced(now, two, two + plum),
          by="agent", why="both add an entry, below neighbouring ones")  # fmt: skip
    last = f"{words.unit}'{words.words[-1]}',\n"
    now, both = replaced(items, last, last + pear), replaced(items, last, last + plum + pear)
    t.add("two-agents-same-anchor", "stale", "land", items, now, edit(last, last + plum), both,
          right=(both, replaced(items, last, last + pear + plum)), by="agent",
          why="both add below the same last entry")  # fmt: skip
    tail = words.function("tail_job", "return 0")
    before = big + "\n" + tail
    now = before + "\n" + words.function("other_tail", "return 9")
    mine = tail + "\n" + words.function("my_tail", "return 5")
    t.add("both-append", "stale", "land", before, now, edit(tail, mine), replaced(now, tail, mine), by="agent",
          why="both put a function at the end")  # fmt: skip
    quote = "".join(f"{line}\n" for line in t.meant_function[:4])
    other = replaced(t.meant_function[2], "note(", "log(")
    now = replaced(big, t.meant_function[2], other)
    t.add("inside-a-quote-by-agent", "stale", "either", big, now,
          edit(quote, quote.replace(t.number, "4242")), replaced(now, t.number, "4242"), by="agent", same=False,
          why="another agent changed a line that this edit quotes and leaves")  # fmt: skip
    now = replaced(five, t.lines[1] + "\n", t.lines[1] + "\n" + t.lines[4].replace("14", "24") + "\n")
    t.add("neighbour-twice-by-agent", "stale", "land", five, now, edit(t.lines[2], t.new_lines[2]),
          replaced(now, t.lines[2], t.new_lines[2]), by="agent")  # fmt: skip


def _changed_meaning(t: _Table) -> None:
    words, big, five = t.words, t.big, t.five
    before = "\n".join(t.functions[:4])
    inner = t.functions[2].splitlines()[1:4]
    wrapped = words.function("wrap", words.branch("flag"), *(f"\t{line.strip()}" for line in inner), *words.closing)
    now = "\n".join((*t.functions[:2], wrapped, t.functions[3]))
    old = inner[0].strip()
    new = old.replace("=", "= 2 *")
    t.add("nested-deeper", "stale", "either", before, now, edit(old, new), replaced(now, old, new),
          why="others put the lines below a condition")  # fmt: skip
    now = replaced(big, t.meant, f"{t.meant} {words.comment('others')}")
    t.add("same-line-comment", "stale", "either", big, now, edit(t.meant, t.meant_new),
          replaced(now, t.meant, t.meant_new), why="others put a comment at the end of the line")  # fmt: skip
    before = words.function("send", "retry = 3", words.branch("debug"), "\tverbose(1)", *words.closing)
    now = before.replace("debug", "not_debug")
    t.add("condition-flipped", "stale", "either", before, now, edit("verbose(1)", "verbose(2)"),
          replaced(now, "verbose(1)", "verbose(2)"), why="the line above changes what the edit means")  # fmt: skip
    whole = "\n".join(t.functions[4].splitlines())
    head = t.functions[4].splitlines()[0]
    now = replaced(big, head, head.replace(words.argument, words.argument + "_id"))
    t.add("context-line-changed", "stale", "either", big, now,
          edit(whole, whole.replace("return step + 4", "return step + 44")),
          replaced(now, "return step + 4", "return step + 44", at=1), same=False,
          why="the call quotes a whole function; others renamed its argument")  # fmt: skip
    now = big + "\n" + words.function("newest", "note('more')")
    done = now.replace("note(", "log(")
    t.add("all-and-one-more", "stale", "either", big, now, edit("note(", "log(", takes_all=True), done,
          right=(done, big.replace("note(", "log(") + "\n" + words.function("newest", "note('more')")),
          why="replace_all, and others added one more place far away")  # fmt: skip
    now = five + "\n" + five
    t.add("copied-below", "stale", "either", five, now, edit(t.lines[2], t.new_lines[2]),
          replaced(now, t.lines[2], t.new_lines[2], at=1), same=False, why="the text is there twice now")  # fmt: skip


# --- traps: whatever lands is wrong -------------------------------------------------------------------------------


def _traps(t: _Table) -> None:
    words, five, big = t.words, t.five, t.big

    def trap(
        name: str,
        before: str,
        now: str | None,
        call: Call,
        goal: str | None,
        *,
        path: str | None = None,
        by: Literal["program", "agent"] = "program",
        how: How = "write",
        why: str = "",
    ) -> None:
        t.add(name, "trap", "refuse", before, now, call, goal, same=False, path=path, by=by, how=how, why=why)

    limits = five + "limit = 3\n"
    now = limits.replace("limit = 3", "limit = 30")
    trap("prefix-number", limits, now, edit("limit = 3", "limit = 5"), now.replace("limit = 30", "limit = 5"),
         why="3 became 30, and the old text is a prefix of it")  # fmt: skip
    tiers = "".join(f"- name: {word}\n  tier: t{index}\n" for index, word in enumerate(words.words))
    tiers += "- name: bbb\n  tier: gold\n"
    now = tiers.replace("name: bbb", "name: bbb-x")
    trap("prefix-word", tiers, now, edit("name: bbb", "name: ccc"), now.replace("name: bbb-x", "name: ccc"),
         path="prefix-word.yml")  # fmt: skip
    price = words.function("quote_price", "rate = lookup(order)", "return round(rate)")
    weight = words.function("quote_weight", "grams = weigh(order)", "return round(grams)")
    audit = words.function("audit", "rate = history(order)", "return round(rate)")
    before = price + "\n" + weight + "\n" + big
    call = edit("return round(rate)", "return round(rate, 2)")
    now = price.replace("round(rate)", "ceil(rate)") + "\n" + audit + "\n" + weight + "\n" + big
    trap("twin-elsewhere", before, now, call, now.replace("ceil(rate)", "round(rate, 2)"),
         why="the place changed, and the same words came in at another place")  # fmt: skip
    trap("function-gone-twin-came", before, audit + "\n" + weight + "\n" + big, call, None)
    before = "api:\n  timeout: 5\n  hosts: 2\njobs:\n  timeout: 6\n  hosts: 4\n"
    now = before.replace("timeout: 5", "timeout: X").replace("timeout: 6", "timeout: 5")
    now = now.replace("timeout: X", "timeout: 6")
    trap("values-swapped", before, now, edit("timeout: 5", "timeout: 50"),
         replaced(now, "timeout: 6", "timeout: 50"), path="values-swapped.yml")  # fmt: skip
    before = before.replace("hosts: 4", "hosts: 2").replace("api:", "[api]").replace("jobs:", "[jobs]")
    before = before.replace("  ", "").replace(": ", " = ")
    now = before.replace("timeout = 5", "timeout = X").replace("timeout = 6", "timeout = 5")
    now = now.replace("timeout = X", "timeout = 6")
    trap("values-swapped-in-sections", before, now, edit("timeout = 5", "timeout = 50"),
         replaced(now, "timeout = 6", "timeout = 50"), path="values-swapped.toml",
         why="the neighbours are the same, the section is another")  # fmt: skip
    imports = f"import os\nimport sys\n\n{five}"
    twice = "import os\nimport json\n"
    trap("same-insertion-made", imports, imports.replace("import os\n", twice), edit("import os\n", twice), None,
         by="agent", why="landing doubles the line")  # fmt: skip
    now = imports.replace("import sys\n", "import sys\nimport json\n")
    trap("same-insertion-made-beside", imports, now, edit("import os\n", twice), None, by="agent",
         why="the same line was inserted one line further down")  # fmt: skip
    trap("same-edit-made", five, replaced(five, t.lines[2], t.new_lines[2]), edit(t.lines[2], t.new_lines[2]), None,
         by="agent")  # fmt: skip
    before = "build:\n  run: make all\n  cache: on\ntest:\n  run: make check\n  cache: off\n"
    now = before.replace("make all", "ninja") + "nightly:\n  run: make all\n  cache: off\n"
    old = "  run: make all\n"
    trap("anchor-in-another-job", before, now, edit(old, old + "  retries: 2\n"),
         now.replace("  run: ninja\n", "  run: ninja\n  retries: 2\n"), path="anchor.yml")  # fmt: skip
    trap("file-replaced", '[project]\nname = "shop"\nversion = "1.0"\n\n[tool.lint]\nwidth = 100\n',
         '[schema]\nversion = "1.0"\nstrict = true\n', edit('version = "1.0"', 'version = "1.1"'), None,
         path="file-replaced.toml", how="rename", why="another file has this name now")  # fmt: skip
    line = t.meant_function[2]
    now = replaced(big, line, f"{line}\n{words.unit}{words.comment('tax is added later')}")
    trap("interior-drift", big, now, edit(t.functions[6], words.function("short_form", "return 6")), None,
         why="a line came into the block that the edit replaces")  # fmt: skip
    trap("file-gone", five, None, edit(t.lines[2], t.new_lines[2]), None, how="delete")
    now = replaced(five, t.lines[2], t.lines[2].replace("12", "1234"))
    trap("value-extended", five, now, edit(t.lines[2].rstrip(";"), t.new_lines[2].rstrip(";")),
         replaced(now, t.lines[2].replace("12", "1234"), t.new_lines[2]))  # fmt: skip


# --- ambiguous: the call does not say which place ----------------------------------------------------------------


def _ambiguous(t: _Table) -> None:
    words, five = t.words, t.five

    def ambiguous(name: str, before: str, call: Call, goal: str | None, path: str | None = None, why: str = "") -> None:
        t.add(name, "ambiguous", "refuse", before, None, call, goal, same=False, path=path, why=why)

    twins = _twins(t)
    ambiguous("second-of-two", twins, edit("return None", "return 0"), replaced(twins, "return None", "return 0", at=2))
    many = "\n".join(
        words.function(f"{word}_{index}", f"mark({index})", "return None") for index in range(3) for word in words.words
    )
    ambiguous("ninth-of-fifteen", many, edit("return None", "return 0"),
              replaced(many, "return None", "return 0", at=9))  # fmt: skip
    rows = "grid:\n" + "  - [0, 0]\n" * 3 + "end: yes\n"
    ambiguous("overlapping-pair", rows, edit("  - [0, 0]\n" * 2, "  - [1, 0]\n  - [0, 1]\n"),
              "grid:\n  - [0, 0]\n  - [1, 0]\n  - [0, 1]\nend: yes\n", "overlap.yml",
              "two of three equal lines: a count without overlaps says one")  # fmt: skip
    ambiguous("empty-old", five, edit("", words.comment("head") + "\n"), None, why="no text, in a file that exists")
    walk = words.function("walk", words.branch("left"), "\tmove(1)", "\trest()", *words.closing, "move(1)", "rest()")
    three = words.unit * 3
    ambiguous("two-indentations", walk, edit(f"move(1)\n{three}rest()", f"move(2)\n{three}rest()"),
              replaced(walk, "move(1)", "move(2)", at=2),
              why="two places differ in their indentation only, and the call has a third")  # fmt: skip
    old = "class PaymentGateway(Base):\n    endpoint = None"
    ambiguous("invented", t.big, edit(old, old.replace("None", "'x'")), None, why="the text is from another project")
    ambiguous("no-change", five, edit(t.lines[2], t.lines[2]), None)


def _twins(t: _Table) -> str:
    function = t.words.function
    return "\n".join(
        (
            t.functions[0],
            function("first_try", "open_line()", "return None"),
            t.functions[1],
            function("second_try", "close_line()", "return None"),
            t.functions[2],
        )
    )


# --- slips: the file is as it was read, the call is not quite what is there ---------------------------------------


def _slips(t: _Table) -> None:
    words, big, unit, number = t.words, t.big, t.words.unit, t.number
    goal = replaced(big, number, "4242")

    def slip(
        name: str, before: str, old: str, new: str, goal: str, *, right: Sequence[str] = (), path: str | None = None
    ) -> None:
        t.add(name, "slip", "land", before, None, edit(old, new), goal, right=right or None, path=path)

    block = "\n".join(t.meant_function[1:3])
    ragged = replaced(big, t.meant, t.meant + "  ")
    slip("trailing-blanks", ragged, block + "\n", (block + "\n").replace(number, "4242"),
         replaced(ragged, number, "4242"), right=(replaced(ragged, number, "4242"), goal))  # fmt: skip
    tabbed = big.replace(unit, "\t") if unit != "\t" else big.replace("\t", "    ")
    lines = tabbed.split("\n")
    first = next(index for index, line in enumerate(lines) if line.strip() == t.meant)
    old = "\n".join(lines[first : first + 2])
    old = old.replace("\t", "    ") if unit != "\t" else old.replace("    ", "\t")
    slip("tabs-for-blanks", tabbed, old, old.replace(number, "4242"), replaced(tabbed, number, "4242"))
    head = "class Depot:\n" if words.lang == "py" else "class Depot {\n"
    inner = "".join(f"{unit}{line}\n" for line in t.meant_function) + "".join(f"{line}\n" for line in words.closing)
    deep = "\n".join((t.functions[0], head + inner, t.functions[1]))
    old = "\n".join(t.meant_function[:3])
    slip("outer-indent-missing", deep, old, old.replace(number, "4242"), replaced(deep, number, "4242"))
    old = block.lstrip()
    slip("first-indent-trimmed", big, old, old.replace(number, "4242"), goal)
    first = big.split("\n").index(t.meant_function[1]) + 1
    pasted = [f"{first + index:6}→{line}" for index, line in enumerate(block.split("\n"))]
    old = "\n".join(pasted)
    slip("line-numbers-pasted", big, old, old.replace(t.meant, t.meant.replace(number, "4242")), goal)
    slip("line-numbers-in-old-only", big, old, block.replace(number, "4242"), goal)
    escaped = block.replace("\n", "\\n")
    slip("newlines-escaped", big, escaped, escaped.replace(number, "4242"), goal)
    said = replaced(big, t.meant, f'{t.meant}\n{unit}say("ready")')
    slip("quotes-escaped", said, 'say(\\"ready\\")', 'say(\\"steady\\")', said.replace('"ready"', '"steady"'))
    slip("blank-line-too-many", big, f"\n{block}\n\n", f"\n{block}\n\n".replace(number, "4242"), goal)
    five, last = t.five[:-1], t.lines[4]
    done = replaced(five, last, t.new_lines[4])
    slip("newline-not-there", five, last + "\n", t.new_lines[4] + "\n", done, right=(done, done + "\n"))


def _more_slips(t: _Table) -> None:
    words, big, unit = t.words, t.big, t.words.unit
    prose = "Notes\n\nThe shop’s “fast lane” opens at 9.\nBring the receipt – it’s needed.\nTarif réduit le lundi.\n"

    def slip(name: str, before: str, old: str, new: str, goal: str, *more: str) -> None:
        t.add(name, "slip", "land", before, None, edit(old, new), goal, right=(goal, *more), path=f"{name}.md")

    slip("curly-quotes", prose, 'The shop\'s "fast lane" opens at 9.', 'The shop\'s "fast lane" opens at 10.',
         replaced(prose, "at 9.", "at 10."))  # fmt: skip
    slip("dash", prose, "Bring the receipt - it's needed.", "Bring the receipt - it's needed twice.",
         replaced(prose, "needed.", "needed twice."))  # fmt: skip
    before = prose.replace("at 9", "at\u00a09")
    slip("no-break-space", before, "opens at 9.", "opens at 10.", replaced(before, "\u00a09.", "\u00a010."),
         replaced(before, "at\u00a09.", "at 10."))  # fmt: skip
    before = prose.replace("é", "e\u0301")
    slip("decomposed-accent", before, "Tarif réduit le lundi.", "Tarif réduit le mardi.",
         replaced(before, "lundi", "mardi"))  # fmt: skip

    def unsure(name: str, before: str, old: str, new: str, goal: str, path: str | None = None) -> None:
        t.add(name, "slip", "either", before, None, edit(old, new), goal, path=path, same=False)

    lines = t.meant_function
    old = f"{lines[0]}\n{unit}...\n{lines[3]}"
    end = lines[3].replace("step", "7 * step")
    unsure("middle-left-out", big, old, old.replace(lines[3], end), replaced(big, lines[3], end))
    before = replaced(big, t.meant, f"{t.meant}\n{unit}small = step < 3")
    unsure("entity", before, "small = step &lt; 3", "small = step &lt; 4", before.replace("step < 3", "step < 4"))
    word = words.words[6 % len(words.words)]
    unsure("word-misremembered", big, lines[2].strip().replace(word, f"{word}s") + f"\n{lines[3]}",
           f"note('done')\n{lines[3]}", replaced(big, lines[2].strip(), "note('done')"))  # fmt: skip
    table = "| item | price |\n|:-----|------:|\n| tea  |  3.20 |\n| milk |  1.10 |\n"
    unsure("aligned-table", table, "| tea | 3.20 |", "| tea | 3.40 |", replaced(table, "3.20", "3.40"), "table.md")


# --- bytes, several edits, patches, reads -------------------------------------------------------------------------


def _bytes(t: _Table) -> None:
    words, big, five = t.words, t.big, t.five

    def land(name: str, before: str, call: Call, goal: str, path: str | None = None, why: str = "") -> None:
        t.add(name, "bytes", "land", before, None, call, goal, path=path, why=why)

    old = "\n".join(t.meant_function[:3])
    call, goal = edit(old, old.replace(t.number, "4242")), replaced(big, t.number, "4242")
    land("crlf-file", big.replace("\n", "\r\n"), call, goal.replace("\n", "\r\n"))
    land("mixed-ends", big.replace("\n", "\r\n", 9), call, goal.replace("\n", "\r\n", 9))
    five_goal = replaced(five, t.lines[2], t.new_lines[2])
    land(
        "bom", "\ufeff" + five, edit(t.lines[0], t.new_lines[0]), "\ufeff" + replaced(five, t.lines[0], t.new_lines[0])
    )
    latin = "\udce9t\udce9\n"
    land("latin-1-byte", latin + five, edit(t.lines[2], t.new_lines[2]), latin + five_goal)
    land("no-final-newline", five[:-1], edit(t.lines[2], t.new_lines[2]), five_goal[:-1])
    price = words.let("price", "'$& $1 $$'")
    land("dollar-in-new", five, edit(t.lines[2], price), replaced(five, t.lines[2], price),
         why="replacement patterns of some libraries")  # fmt: skip
    before = f"{five}say('one\\ntwo')\n"
    land("backslash-n-meant", before, edit("say('one\\ntwo')", "say('one\\nthree')"),
         replaced(before, "one\\ntwo", "one\\nthree"))  # fmt: skip
    rows = "".join(f'{{"id": {index}, "text": "{words.words[index] * 120}"}}\n' for index in range(4))
    land("long-line-token", rows, edit('{"id": 2,', '{"id": 22,'), replaced(rows, '{"id": 2,', '{"id": 22,'),
         "rows.jsonl")  # fmt: skip


def _several(t: _Table) -> None:
    words, big, five = t.words, t.big, t.five
    ends = [t.functions[index].splitlines()[3] + "\n" for index in (3, 5, 7, 9)]
    pairs = [(end, end.replace("step", "2 * step")) for end in ends]
    goal = big
    for old, new in pairs:
        goal = replaced(goal, old, new)
    t.add("four-edits", "several", "land", big, None, multi(*pairs), goal)
    fresh, again = words.let("fresh", 1), words.let("fresh", 2)
    t.add("second-needs-first", "several", "land", five, None,
          multi((t.lines[1], f"{t.new_lines[1]}\n{fresh}"), (fresh, again)),
          replaced(five, t.lines[1], f"{t.new_lines[1]}\n{again}"))  # fmt: skip
    t.add("first-makes-twin", "several", "either", five, None,
          multi((t.lines[1], f"{t.lines[3]}\n{t.lines[1]}"), (t.lines[3], t.new_lines[3])),
          replaced(replaced(five, t.lines[3], t.new_lines[3]), t.lines[1], f"{t.lines[3]}\n{t.lines[1]}"), same=False,
          why="the first step brings in a copy of the second step's text")  # fmt: skip
    line, end = t.meant_function[2:4]
    bad = " " + line
    t.add("second-step-slips", "several", "either", big, None,
          multi((t.meant, t.meant_new), (f"{bad}\n{end}", f"{bad.replace('note', 'log')}\n{end}")),
          replaced(replaced(big, t.meant, t.meant_new), line, line.replace("note", "log")), same=False,
          why="one of two steps has the wrong indentation: nothing may be half written")  # fmt: skip
    now = replaced(big, t.functions[3], t.functions[3].replace("return step", "return 2 * step"))
    old = t.functions[9].splitlines()[3]
    new = old.replace("step", "9 * step")
    t.add("stale-and-two-far", "several", "land", big, now, multi((t.meant, t.meant_new), (old, new)),
          replaced(replaced(now, t.meant, t.meant_new), old, new))  # fmt: skip


def _patches(t: _Table) -> None:
    words, big = t.words, t.big
    lines, unit, goal = t.meant_function, words.unit, replaced(big, t.number, "4242")
    first = big.split("\n").index(lines[0]) + 1
    new = lines[1].replace(t.number, "4242")
    hunk = [f" {lines[0]}", f"-{lines[1]}", f"+{new}", f" {lines[2]}"]

    def land(name: str, now: str | None, call: Call, goal: str, why: str = "") -> None:
        t.add(name, "patch", "land", big, now, call, goal, why=why)

    land("patch-wrong-numbers", None, patch(("-3,3 +3,3", hunk)), goal)
    land("patch-wrong-counts", None, patch((f"-{first},9 +{first},7", hunk)), goal,
         "the counts behind @@ are wrong, as models often have them; the lines are right")  # fmt: skip
    now = "\n".join(words.functions(2, "z")) + "\n" + big
    land("patch-file-shifted", now, patch((f"-{first},3 +{first},3", hunk)), replaced(now, t.number, "4242"))
    land("patch-no-context", None, patch((f"-{first + 1} +{first + 1}", hunk[1:3])), goal)
    above = [f" {t.functions[5].splitlines()[-1]}", "", *hunk[:3]]
    land("patch-bare-blank-line", None, patch((f"-{first - 2},4 +{first - 2},4", above)), goal,
         "an empty context line without its blank, as models write it")  # fmt: skip
    ninth = t.functions[9].splitlines()
    second = [f" {ninth[0]}", f"-{ninth[1]}", f"+{ninth[1].replace('=', '= 3 *')}", f" {ninth[2]}"]
    t.add("patch-hunks-swapped", "patch", "either", big, None,
          patch(("-60,3 +60,3", second), (f"-{first},3 +{first},3", hunk)),
          replaced(goal, ninth[1], ninth[1].replace("=", "= 3 *")), same=False)  # fmt: skip
    twins = _twins(t)
    number = twins.split("\n").index(f"{unit}close_line()") + 2
    changed = [f"-{unit}return None", f"+{unit}return 0"]
    twin_goal = replaced(twins, "return None", "return 0", at=2)
    t.add("patch-twin-by-number", "patch", "either", twins, None, patch((f"-{number} +{number}", changed)), twin_goal,
          same=False, why="the line is there twice; only the number says which")  # fmt: skip
    t.add("patch-twin-by-context", "patch", "land", twins, None, patch(("", [f" {unit}close_line()", *changed])),
          twin_goal)  # fmt: skip
    now = replaced(big, lines[0], lines[0].replace(words.argument, f"{words.argument}_id"))
    t.add("patch-context-changed", "patch", "either", big, now, patch((f"-{first},3 +{first},3", hunk)),
          replaced(now, t.number, "4242"), same=False)  # fmt: skip


def _reads(t: _Table) -> None:
    goal = replaced(t.big, t.meant, t.meant_new)
    call = edit(t.meant, t.meant_new)
    t.add("part-read", "read", "land", t.big, None, call, goal, read=(1, 12),
          why="the model read the first lines and knows the rest from a search")  # fmt: skip
    five_goal = replaced(t.five, t.lines[2], t.new_lines[2])
    t.add("not-read", "read", "either", t.five, None, edit(t.lines[2], t.new_lines[2]), five_goal, read="none",
          why="the model knows the line from a search")  # fmt: skip
    t.add("not-read-long", "read", "either", t.big, None, call, goal, read="none")


# --- the shared tree ------------------------------------------------------------------------------------------------


def tree_of(words: Vocabulary, seed: int) -> Tree:
    """15 agents, 71 tasks, 28 barriers, 6 files; most files are edited by several agents of one barrier."""
    rng = random.Random(seed)
    names = [f"mod_{word}.{words.lang}" for word in words.words]
    files = {
        name: "\n".join(
            words.function(
                f"{name[4:6]}_{index}",
                f"a{index} = {index}",
                f"b{index} = {index * 3}",
                f"note('{name[4:7]} {index}')",
                f"return a{index}",
            )
            for index in range(N_FUNCTIONS)
        )
        for name in names
    }
    entries = "".join(f"entry {index:02}: {words.words[index % 5]}\n" for index in range(12))
    files["registry.txt"] = f"{entries}last: none\n"
    unused = {name: list(range(N_FUNCTIONS)) for name in names}
    written: list[Task] = []  # lines that a later barrier may rewrite
    tasks: list[Task] = []
    for barrier, width in enumerate(WIDTHS):
        hot = rng.sample(names, 2)  # the files into which this barrier's agents crowd
        new_lines: list[Task] = []
        busy: set[int] = set()
        for place in range(width):
            number = len(tasks)
            agent = next(each % N_AGENTS for each in range(number * 4 + barrier, 10**9) if each % N_AGENTS not in busy)
            busy.add(agent)
            task = _task(words, number, barrier, agent, hot[place % 2], unused, written)
            tasks.append(task)
            if number % 5 == 0 and task.file != "registry.txt":
                new_lines.append(task)
        written += new_lines
    marks = {task.mark: task.task for task in tasks}
    rewritten = {marks[task.old]: task.task for task in tasks if task.old in marks}
    gone = {number: (later,) for number, later in rewritten.items()}
    return Tree(
        files=files,
        tasks=tuple(replace(task, gone=gone.get(task.task, ())) for task in tasks),
        widths=WIDTHS,
    )


def _task(
    words: Vocabulary,
    number: int,
    barrier: int,
    agent: int,
    file: str,
    unused: dict[str, list[int]],
    written: list[Task],
) -> Task:
    kind = ("value", "pair", "append", "register", "again")[number % 5]
    if kind == "again" and written:  # a line that an earlier barrier wrote
        earlier = written.pop(0)
        mark = f"{earlier.mark} + {number}"
        return _made(number, barrier, agent, earlier.file, earlier.mark, mark, mark)
    if not unused[file]:
        file = max(unused, key=lambda name: len(unused[name]))
    if kind == "register" or not unused[file]:
        entry = f"entry t{number:02}: agent {agent}\n"
        return _made(number, barrier, agent, "registry.txt", "last: none\n", f"{entry}last: none\n", entry)
    index = unused[file].pop(0)
    if kind == "append":
        old = f"note('{file[4:7]} {index}')"
        mark = f"note('{file[4:7]} {index} by {number}')"
        return _made(number, barrier, agent, file, old, f"{old}\n{words.unit}{mark}", mark)
    if kind == "pair":
        mark = f"b{index} = {index * 3} + {number}"
        old = f"a{index} = {index}\n{words.unit}b{index} = {index * 3}"
        return _made(number, barrier, agent, file, old, f"a{index} = {number}\n{words.unit}{mark}", mark)
    mark = f"a{index} = {1000 + number}"
    return _made(number, barrier, agent, file, f"a{index} = {index}\n", f"{mark}\n", mark)


def _made(number: int, barrier: int, agent: int, file: str, old: str, new: str, mark: str) -> Task:
    return Task(task=number, barrier=barrier, agent=agent, file=file, old=old, new=new, mark=mark, gone=())


def texts() -> dict[str, str]:
    """The content of each file, by name."""
    return {
        TABLE.name: to_json(scenarios_of(PUBLIC)),
        HELD_OUT.name: to_json(scenarios_of(OTHER)),
        TREE.name: to_json(tree_of(PUBLIC, FAMILY_SEED)),
    }


def main() -> int:
    for name, content in texts().items():
        (TABLE.parent / name).write_text(content, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
