"""`help()` of the client's methods answers what a caller asks: each parameter, by name, or the method that says it."""

import inspect
from collections.abc import Iterator

from fileops_client import FileOpsClient, Session, sync


def _methods(owner: type) -> Iterator[tuple[str, str, list[str]]]:
    for name, member in inspect.getmembers(owner, inspect.isroutine):
        if not name.startswith("_"):
            parameters = [parameter for parameter in inspect.signature(member).parameters if parameter != "self"]
            yield f"{owner.__module__}.{owner.__name__}.{name}", inspect.getdoc(member) or "", parameters


def test_docstring_of_a_method_names_each_parameter() -> None:
    complaints = [
        f"{name}: {parameter}"
        for owner in (FileOpsClient, Session, sync.FileOpsClient, sync.Session)
        for name, doc, parameters in _methods(owner)
        for parameter in (parameters or ["(no docstring)"] * (not doc))
        if parameter not in doc and " as `" not in doc.lower()
    ]
    assert not complaints, "\n".join(complaints)
