"""Values behave as frozen dataclasses, although `_value.py` writes their methods once for all of them."""

import copy
import inspect
import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError, asdict, dataclass, fields, is_dataclass, make_dataclass, replace
from typing import Any

import pytest

from fileops_client import ToolResult, values
from fileops_client._value import Value

VALUES: list[type[Any]] = [kind for kind in vars(values).values() if isinstance(kind, type) and issubclass(kind, Value)]


def twin_of(kind: type[Any]) -> type[Any]:
    """The dataclass that the standard library would make."""
    parts = [(field.name, field.type, field) for field in fields(kind)]
    return make_dataclass(kind.__name__, parts, frozen=True, kw_only=True)


@pytest.mark.parametrize("kind", [kind for kind in VALUES if kind is not Value], ids=lambda kind: kind.__name__)
def test_value_is_what_a_frozen_dataclass_would_be(kind: type[Any]) -> None:
    given = {field.name: n for n, field in enumerate(fields(kind))}
    made, twin = kind(**given), twin_of(kind)(**given)
    assert repr(made) == repr(twin)
    assert hash(made) == hash(twin)
    assert asdict(made) == asdict(twin)
    assert str(inspect.signature(kind)) == str(inspect.signature(twin_of(kind))).removesuffix(" -> None")
    for same in (kind(**given), copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made)), replace(made)):
        assert same == made
        assert type(same) is kind
    assert made != replace(made, **{fields(kind)[0].name: "other"})
    with pytest.raises(FrozenInstanceError):
        setattr(made, fields(kind)[0].name, "other")
    with pytest.raises(FrozenInstanceError):
        delattr(made, fields(kind)[0].name)
    assert not hasattr(made, "__dict__")


def test_missing_and_unknown_arguments_are_refused_by_name() -> None:
    with pytest.raises(TypeError, match="missing a required keyword-only argument: 'n_lines'"):
        values.BlamedLines(first_line=1)  # pyrefly: ignore[missing-argument]
    with pytest.raises(TypeError, match="unexpected keyword argument 'color'"):
        values.BlamedLines(first_line=1, n_lines=1, color="red")  # pyrefly: ignore[unexpected-keyword]


def test_default_factory_makes_a_new_value_for_each_instance() -> None:
    first, second = (ToolResult(status="success", output="") for _ in range(2))
    assert first.details == {}
    assert first.details is not second.details


def test_values_of_another_class_are_not_equal() -> None:
    @dataclass(frozen=True)
    class Other:
        turn_id: str

    assert is_dataclass(values.BeginTurnResult)
    assert values.BeginTurnResult(turn_id="t") != Other("t")


def test_a_class_is_described_when_its_fields_are_first_asked_for() -> None:
    """A command at the terminal uses few of the hundred classes, and would wait for all of them."""
    code = """if True:
        from fileops_client.values import Turn, Unkept
        print([name for name in ("__dataclass_fields__", "__dataclass_params__") if name in vars(Turn)])
        import dataclasses
        print(len(dataclasses.fields(Turn)) > 0, *("__dataclass_fields__" in vars(kind) for kind in (Turn, Unkept)))
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "True True False"]


def test_a_module_of_the_package_loads_neither_asyncio_nor_the_client() -> None:
    """The commands at the terminal start in half the time because of this."""
    code = "import sys, fileops_client.requests.record; print([name for name in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "'fileops_client.values'" in loaded
    assert "'asyncio'" not in loaded
    assert "'fileops_client._client'" not in loaded
