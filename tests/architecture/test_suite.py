"""The structure of the tests themselves; tests/README.md says where a test goes."""

import ast
import asyncio
import pathlib
import tomllib
from contextlib import closing
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture import engine

from architecture.imports import GROUP, ROOT
from support.patience import FULL_S, SHRUNK_S, shrink_patience
from support.virtual_time import VirtualTimeLoop

pytestmark = GROUP

TESTS = ROOT / "tests"
# What starts a process with our code: modules of tests/support, and names in others of them.
STARTER_MODULES = {"support.lsp_client", "support.sshd", "support.sftp_proxy", "support.starved", "support.acp_agent"}
STARTERS = {"raw_client", "RawClient", "mcp_client", "McpClient", "FILEOPS", "attached"}


def starts_a_process(node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom) and node.module is not None:
        return node.module in STARTER_MODULES or not STARTERS.isdisjoint(alias.name for alias in node.names)
    return isinstance(node, ast.Attribute) and ast.unparse(node) == "sys.executable"


def test_unit_tests_start_no_process_with_our_code() -> None:
    complaints = [
        f"{path.relative_to(TESTS)}:{node.lineno}: {ast.unparse(node)}"
        for path in sorted((TESTS / "unit").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom | ast.Attribute) and starts_a_process(node)
    ]
    assert complaints == []


def test_decision_table_names_every_folder_of_tests() -> None:
    table = (TESTS / "README.md").read_text(encoding="utf-8")
    folders = {path.name for path in TESTS.iterdir() if path.is_dir() and any(path.rglob("*.*"))} - {"__pycache__"}
    assert {folder for folder in folders if f"`{folder}" not in table} == set()


@pytest.mark.parametrize(("bound_s", "expected"), [(FULL_S, SHRUNK_S), (20.0, 20.0)])
def test_patience_shrinks_in_modules_that_imported_it(bound_s: float, expected: float) -> None:
    """A bound that a module chose for itself stays."""
    module = ModuleType("a_test")
    vars(module)["PATIENCE_S"] = bound_s
    shrink_patience([module, ModuleType("without")])
    assert vars(module)["PATIENCE_S"] == expected


def test_no_function_has_the_patience_as_a_default() -> None:
    """It would keep the bound of the beginning."""
    complaints = [
        f"{path.relative_to(TESTS)}:{default.lineno}"
        for path in modules_of_tests()
        if "PATIENCE_S" in (text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for default in (*node.args.defaults, *node.args.kw_defaults)
        if default is not None and "PATIENCE_S" in ast.unparse(default)
    ]
    assert complaints == []


def test_shorter_example_is_looked_for_in_less_time_than_a_test_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound has no public name, so an update of Hypothesis may lose it."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        limit_s = tomllib.load(file)["tool"]["pytest"]["ini_options"]["timeout"]
    assert limit_s >= 4 * engine.MAX_SHRINKING_SECONDS
    monkeypatch.setattr(engine, "MAX_SHRINKING_SECONDS", 0)
    failed: list[int] = []

    @settings(database=None, derandomize=True)
    @given(st.integers(min_value=0))
    def fails_from_ten_on(number: int) -> None:
        failed.extend([number] if number >= 10 else [])
        assert number < 10

    with pytest.raises(AssertionError):
        fails_from_ten_on()
    assert min(failed) > 10


def test_loop_without_real_time_fails_if_nothing_is_left_that_could_happen() -> None:
    with closing(VirtualTimeLoop()) as loop, pytest.raises(AssertionError, match="nothing is left"):
        loop.run_until_complete(asyncio.Event().wait())


def modules_of_tests() -> list[pathlib.Path]:
    return sorted(path for path in TESTS.rglob("*.py") if "node_modules" not in path.parts)
