"""House style of prose and names: phrases that docs, docstrings, comments and messages avoid, and retired identifiers.

docs/internals/STYLE.md gives the reasons. Code blocks and inline code are not prose.
"""

import ast
import io
import pathlib
import re
import tokenize
from collections.abc import Iterator

import pytest

from architecture.imports import CLIENT, GROUP, ROOT, SERVER, name_of, tree_of

pytestmark = GROUP

# phrase -> what to write instead
PHRASES = {
    r"\b(?:stands?|stood|standing)\b": "is, exists, contains, remains",
    r"\b(?:nobody|somebody|whoever|whomever|no one)\b": "name the actor: the user, another process, the client",
    r"\b(?:whatever|whichever)\b": "name the cases",
    r"\b(?:told|tells?|telling)\b": "reported, notified, returned, shows",
    r"\bunasked\b": "without a request",
    r"\b(?:he|him|his)\b": "they, the user, the other process",
    r"\btak(?:e|es|en|ing) back\b|\btook back\b": "undo, revert",
    r"\banew\b": "again",
    r"\bmeanwhile\b": "in the meantime, or name the moment",
    r"\ball the same\b": "still, nevertheless",
    r"\b(?:comes?|came|coming) of\b": "results from, became",
    r"\bat work\b": "running, in progress",
    r"\bto be had\b": "available",
    r"\bheld against\b": "compared with",
    r"\bby its letters\b": "literally",
    r"\b(?:of ours|of theirs|of its own|of their own|of his)\b": "our X, its own X",
    r"\b(?:right|directly|close) behind\b|\bbehind (?:it|that|the answer|the commit|the edit|the call)\b": "after",
    r"\ba look\b|\blooks? (?:again|once)\b": "a check, a stat, a read",
    r"\bas (?:was )?ordered\b|\bthe ordered\b": "specified, required",
    r"\bgoes? on\b|\bwent on\b": "continues",
    r"\bwherever\b": "in every place that",
}
BANNED = {re.compile(phrase, re.IGNORECASE): better for phrase, better in PHRASES.items()}
# in names of tests: a phrase, and what to write instead; those above count too
NAME_PHRASES = {
    r"^(?:an?|the)\b": "no article at the beginning",
    r"^(?:who|whom|whose|what|which|when|where|while|if|because|until|of|in|on|at|by|for|from|after|before|during|within|"
    r"with|without|under|outside|as|and|or|not|it|they|those|that|else)\b": "the subject first: what is tested",
    r"\bbehind\b": "after, past, below",
    r"\b(?:says?|said|speaks?|hears?|heard)\b": "reports, is reported, is notified",
    r"\b(?:lies|news|litter)\b": "is, stays fresh, temp files",
    r"\b(?:persons?|people|strangers?)\b": "the user, another process",
    r"^\w+$": "the subject and the outcome: more than one word",
}
MAX_TEST_NAME_CHARS = 90
# names that were replaced, and must not come back
RETIRED = {
    "Lookout", "Looker", "Sightings", "UndoWriter", "Turns", "Judged", "Truth", "Person", "World", "Wiring", "Gate",
    "CancelHooks", "until_current", "let_go", "carry_over", "done_with", "Unmatched", "Misquote", "Leftover",
    "AnyBackend", "Standard", "RecentContents", "Ledger", "Measurement", "Numbers", "Seen", "is_seen", "is_behind",
    "speaks", "at_once", "falls_back", "asks_no_more", "together", "lose_client", "heard", "less_work", "why_unusable",
    "is_touched", "unlooked", "take_back", "changed_places", "LoopEvents", "FileOpsServer", "EditorBuffers",
}  # fmt: skip
ORDERED = ("Nobody decided about this edit", "A person took back")  # what the model reads of a review, see R-REV-7
ORDERED_TITLE = "# See and take back what agents did"
N_BLANKS_OF_A_SENTENCE = 3  # a string with fewer is a name, a key or a part of a format
TESTS = sorted(path for path in (ROOT / "tests").rglob("*.py") if "node_modules" not in path.parts)
SOURCES = sorted([*SERVER.rglob("*.py"), *CLIENT.rglob("*.py")])
PLUGIN_SOURCES = sorted(
    [
        *(ROOT / "clients" / "neovim" / "lua").rglob("*.lua"),
        *(ROOT / "clients" / "neovim" / "doc").glob("*.txt"),
        *(ROOT / "clients" / "vscode" / "src").rglob("*.ts"),
        *(ROOT / "clients" / "vscode").glob("package*.json"),
    ]
)
# whose comments are checked, and no strings: those of tests are contents and expected answers
SCRIPTS = sorted(
    path
    for folder in (ROOT / "clients", ROOT / "tests")
    for suffix in ("lua", "ts", "js", "mjs")
    for path in folder.rglob(f"*.{suffix}")
    if {"node_modules", "dist", "dist-test", "bundled"}.isdisjoint(path.parts)  # built, or others' own
)
SCRIPT_COMMENT = re.compile(r"(?:^\s*(?:--|//|/?\*)|\s(?:---?|//|/\*\*?)(?=[\s@])).*")
DOCUMENTS = sorted(
    path
    for path in [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "clients").rglob("*.md"),
        *(ROOT / "tests").rglob("*.md"),
    ]
    if "node_modules" not in path.parts and path.name != "CHANGELOG.md"
)


def prose_of_source(path: pathlib.Path) -> Iterator[tuple[int, str]]:
    """Yield (line, text) of each comment, of each docstring, and of each other string that may be a sentence."""
    yield from comments_and_docstrings(path)
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Constant) and is_sentence(node.value):
            yield node.lineno, str(node.value)


def comments_and_docstrings(path: pathlib.Path) -> Iterator[tuple[int, str]]:
    """Yield (line, text) of each comment and of each line of each docstring."""
    source = path.read_text(encoding="utf-8")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(tree_of(path)):
        is_documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if is_documented and (docstring := ast.get_docstring(node, clean=False)):
            yield from enumerate(docstring.splitlines(), node.body[0].lineno)


def is_sentence(value: object) -> bool:
    """Whether a string may be a sentence. Those that were ordered word by word do not count."""
    return isinstance(value, str) and value.count(" ") >= N_BLANKS_OF_A_SENTENCE and not value.startswith(ORDERED)


def prose_of_document(path: pathlib.Path) -> Iterator[tuple[int, str]]:
    """Yield (line, text) of a Markdown document outside its code."""
    is_code = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code and line != ORDERED_TITLE:
            yield number, re.sub(r"`[^`]*`", "", line)


def page_name(path: pathlib.Path) -> str:
    return path.relative_to(ROOT).as_posix()


def findings(name: str, prose: Iterator[tuple[int, str]]) -> list[str]:
    return [
        f"{name}:{line}: {found[0]!r} -> {better}"
        for line, text in prose
        for plain in [re.sub(r"`[^`]*`", "", text)]
        for banned, better in BANNED.items()
        if (found := banned.search(plain))
    ]


def sentences_of_plugin(path: pathlib.Path) -> Iterator[tuple[int, str]]:
    """Yield (line, text) of each string of Lua, TypeScript or JSON that may be a sentence; of a help page all."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if path.suffix == ".txt":
            yield number, line
        elif not line.lstrip().startswith(("--", "//", "*", "/*")):
            code = re.split(r"\s(?:--|//)\s", line)[0]
            yield from (
                (number, text) for _, text in re.findall(r"""(['"`])((?:(?!\1).)+)\1""", code) if is_sentence(text)
            )


def comments_of_script(path: pathlib.Path) -> Iterator[tuple[int, str]]:
    """Yield (line, text) of each comment of Lua, JavaScript or TypeScript."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if found := SCRIPT_COMMENT.search(line):
            yield number, found[0]


def test_comments_of_plugins_and_scripts_avoid_the_phrases() -> None:
    assert [c for path in SCRIPTS for c in findings(page_name(path), comments_of_script(path))] == []


def test_sentences_of_plugins_avoid_the_phrases() -> None:
    assert [c for path in PLUGIN_SOURCES for c in findings(page_name(path), sentences_of_plugin(path))] == []


def test_comments_docstrings_and_messages_avoid_the_phrases() -> None:
    assert [complaint for path in SOURCES for complaint in findings(name_of(path), prose_of_source(path))] == []


def test_comments_and_docstrings_of_tests_avoid_the_phrases() -> None:
    """Other strings of tests are stories, contents and expected answers."""
    assert [c for path in TESTS for c in findings(page_name(path), comments_and_docstrings(path))] == []


def test_documents_avoid_the_phrases() -> None:
    assert [complaint for path in DOCUMENTS for complaint in findings(page_name(path), prose_of_document(path))] == []


def test_retired_names_are_not_defined() -> None:
    complaints = [
        f"{name_of(path)}:{node.lineno}: {name}"
        for path in SOURCES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.arg)
        for name in [node.arg if isinstance(node, ast.arg) else node.name]
        if name in RETIRED
    ]
    assert complaints == []


def test_docstrings_do_not_begin_with_a_parameter() -> None:
    complaints = [
        f"{name_of(path)}:{node.lineno}: {first_line}"
        for path in SOURCES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        for first_line in [(ast.get_docstring(node) or "").split("\n", 1)[0]]
        if re.match(r"`?[a-z_]+`?(?:, [a-z_]+)*: ", first_line)
    ]
    assert complaints == []


def test_long_documents_have_a_table_of_contents() -> None:
    texts = {page_name(path): path.read_text(encoding="utf-8") for path in DOCUMENTS}
    assert [name for name, text in texts.items() if len(text.split()) >= 2000 and "## Contents" not in text] == []


def test_names_of_tests_begin_with_the_subject_and_avoid_the_phrases() -> None:
    """`test_<subject>_<condition>_<outcome>`, see docs/internals/STYLE.md."""
    names = {
        (node.name, path.name)
        for path in TESTS
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    }
    assert sorted(f"{file}::{name}: {fault}" for name, file in names for fault in faults_of_test_name(name)) == []


@pytest.mark.parametrize(
    "name",
    [
        "test_a_change_is_told",
        "test_what_is_read_is_tracked",
        "test_write_behind_a_commit_is_kept",
        "test_story",
        f"test_{'very_' * 17}long_name",
    ],
)
def test_name_of_a_test_against_the_style_is_reported(name: str) -> None:
    assert list(faults_of_test_name(name)) != []


def faults_of_test_name(name: str) -> Iterator[str]:
    words = name.removeprefix("test_").replace("_", " ")
    for phrase, better in (PHRASES | NAME_PHRASES).items():
        if found := re.search(phrase, words):
            yield f"{found.group()!r} -> {better}"
    if len(name) > MAX_TEST_NAME_CHARS:
        yield f"{len(name)} characters, {MAX_TEST_NAME_CHARS} at most"
