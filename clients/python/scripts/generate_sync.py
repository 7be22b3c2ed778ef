"""Writes `fileops_client/sync.py` from the classes of the asynchronous client: `generate_sync.py [PATH]`.

There are three kinds of methods: delegated to the asynchronous object through the portal; copied without `async` and
`await`, if they only combine other methods; or part of `sync.template`, if they open, end or hold a client.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "fileops_client"
SOURCES = ["options", "requests/sender", "requests/files", "requests/changes", "requests/sessions",
           "requests/history", "requests/views", "requests/tools", "requests/commands", "requests/reviews",
           "requests/record", "requests/turns", "_session", "_start", "_client", "subscriptions"]  # fmt: skip
MIXINS = [
    "FileRequests",
    "ChangeRequests",
    "SessionRequests",
    "HistoryRequests",
    "ViewRequests",
    "ToolRequests",
    "CommandRequests",
    "TurnRequests",
]

COPIED = {"toolbox"}
OWN = {"close", "session"}  # the template has them
WRAPPED = {"Subscription", "PendingCall"}  # classes of `_portal` around those of the same name
DOC_WORDS = {
    "`await ": "`",
    "`async for ": "`for ",
    "A cancelled task": "A KeyboardInterrupt",
    "can still be awaited": "can still be waited for",
}
CALLBACK_TYPES = {
    "RequestHandler",
    "ConfirmEdit",
    "CorrectEdit",
    "ConfirmCommand",
    "OnReviews",
}  # aliases

FRAME = (Path(__file__).parent / "sync.template").read_text(encoding="utf-8")


class WithoutAwait(ast.NodeTransformer):
    """Makes code synchronous: `await`, `async def`, Awaitable[T]; annotations lose their quotes."""

    def visit_Await(self, node: ast.Await) -> ast.AST:
        return self.visit(node.value)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        self.generic_visit(node)
        return ast.copy_location(ast.FunctionDef(**{name: getattr(node, name) for name in node._fields}), node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        return node.slice if isinstance(node.value, ast.Name) and node.value.id in {"Awaitable", "Opening"} else node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name("Requests", node.ctx) if node.id == "ToolRequests" else node


class Unquoted(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.parse(node.value, mode="eval").body if isinstance(node.value, str) else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        is_literal = isinstance(node.value, ast.Name) and node.value.id == "Literal"
        return node if is_literal else self.generic_visit(node)


Function = ast.FunctionDef | ast.AsyncFunctionDef


def generate() -> str:
    modules = {name: ast.parse((PACKAGE / f"{name}.py").read_text(encoding="utf-8")) for name in SOURCES}
    classes = {node.name: node for tree in modules.values() for node in tree.body if isinstance(node, ast.ClassDef)}
    for node in classes.values():
        _unquote_annotations(node)
    copied = [ast.unparse(WithoutAwait().visit(node)) for node in (classes["AgentTool"], classes["Tool"])]
    parts = {
        "SETUP": [ast.unparse(classes["SetupOptions"])],
        "TOOLS": copied,
        "MIXED": [text for name in MIXINS for text in _methods(classes[name], "_target")],
        "CLIENT": [
            *_attributes(classes["FileOpsClient"]),
            *(
                text
                for name in ("StartMethods", "ReviewRequests", "RecordRequests", "FileOpsClient")
                for text in _methods(classes[name], "_async")
            ),
        ],
        "SESSION": [_close(classes["Session"]), *_methods(classes["Session"], "_async")],
    }
    text = FRAME
    for mark, codes in parts.items():
        indent = "    " if f"    {mark}\n" in text else ""
        text = text.replace(f"{indent}{mark}\n", "\n\n".join(_indented(code, indent) for code in codes) + "\n")
    text = text.replace("IMPORTS\n", "\n".join(_imports(text, modules)) + "\n")
    return _formatted(text)


def _methods(owner: ast.ClassDef, target: str) -> Iterator[str]:
    for node in owner.body:
        if not isinstance(node, Function) or node.name.startswith("_") or node.name in OWN:
            continue
        kinds = [ast.unparse(decorator) for decorator in node.decorator_list]
        if "abstractmethod" in kinds:
            continue
        if node.name not in COPIED and "overload" not in kinds:
            doc = ast.get_docstring(node, clean=False)
            node.body = [*([ast.Expr(ast.Constant(_reworded(doc)))] if doc else []), *_body(node, kinds, target)]
        yield ast.unparse(ast.fix_missing_locations(WithoutAwait().visit(node)))


def _body(node: Function, kinds: list[str], target: str) -> list[ast.stmt]:
    """Return the statements that delegate to the asynchronous method."""
    returns = "None" if node.returns is None else ast.unparse(node.returns)
    if "property" in kinds:
        return _code(f"return self.{target}.{node.name}")
    if "classmethod" in kinds:
        arguments = _arguments(node).replace("**setup", "**cast('AsyncSetupOptions', wrap_callbacks({**setup}))")
        return _code(f"return cls._open(_client.FileOpsClient.{node.name}({arguments}))")
    work = f"self.{target}.{node.name}({_arguments(node)})"
    if isinstance(node, ast.AsyncFunctionDef):
        return _code(f"return self._portal.call({work})")
    if returns in WRAPPED:
        return _code(f"return {returns}(self._portal, self._portal.run(lambda: {work}))")
    if returns == "Callable[[], None]":
        return _code(f"return self._portal.register(lambda: {work})")
    return _code(f"return self._portal.run(lambda: {work})")


def _arguments(node: Function) -> str:
    given = [argument.arg for argument in node.args.args[1:]]
    given += [f"*{node.args.vararg.arg}"] if node.args.vararg else []
    given += [f"{argument.arg}={argument.arg}" for argument in node.args.kwonlyargs]
    given += [f"**{node.args.kwarg.arg}"] if node.args.kwarg else []
    return ", ".join(given)


def _attributes(owner: ast.ClassDef) -> Iterator[str]:
    """Return the public attributes that `__init__` sets, as properties."""
    (init,) = [node for node in owner.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"]
    for node in init.body:
        target = node.target if isinstance(node, ast.AnnAssign) else None
        if isinstance(node, ast.AnnAssign) and isinstance(target, ast.Attribute) and not target.attr.startswith("_"):
            returns = ast.unparse(node.annotation)
            doc = f'    """As `FileOpsClient.{target.attr}` of the asynchronous client."""\n'
            yield f"@property\ndef {target.attr}(self) -> {returns}:\n{doc}    return self._async.{target.attr}"


def _reworded(doc: str) -> str:
    for asynchronous, synchronous in DOC_WORDS.items():
        doc = doc.replace(asynchronous, synchronous)
    return doc


def _close(session: ast.ClassDef) -> str:
    (close,) = [node for node in session.body if isinstance(node, Function) and node.name == "close"]
    return ast.unparse(ast.fix_missing_locations(WithoutAwait().visit(close)))


def _imports(text: str, modules: dict[str, ast.Module]) -> Iterator[str]:
    """Return the imports of the names that the text uses, from where the asynchronous modules have them."""
    tree = ast.parse(text.replace("IMPORTS\n", ""))
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    used -= {node.name for node in tree.body if isinstance(node, ast.ClassDef)} | CALLBACK_TYPES
    places: dict[str, str] = {}
    for_types: dict[str, str] = {}
    for name, module in modules.items():
        for node in module.body:
            found = for_types if isinstance(node, ast.If) else places  # `if TYPE_CHECKING:`
            for inner in ast.walk(node):
                if isinstance(inner, ast.ImportFrom) and inner.module:
                    found |= {alias.name: inner.module for alias in inner.names}
        for node in module.body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                places[node.targets[0].id] = f"fileops_client.{name.replace('/', '.')}"
            if isinstance(node, ast.ClassDef):
                places[node.name] = f"fileops_client.{name.replace('/', '.')}"
    callbacks = ["Answer", "CommandQuestion", "CorrectionRequest", "Question"]
    places |= dict.fromkeys(callbacks, "fileops_client.callbacks") | {"DidChangeReviews": "fileops_client.values"}
    places |= dict.fromkeys((*WRAPPED, "Portal", "wrap_callbacks"), "fileops_client._portal")
    places |= {"_client": "fileops_client", "_session": "fileops_client"}
    yield "import threading"
    yield "from fileops_client.options import SetupOptions as AsyncSetupOptions"
    for name in sorted((used | {"TYPE_CHECKING"}) & places.keys() - for_types.keys()):
        yield f"from {places[name]} import {name}"
    yield "if TYPE_CHECKING:"
    for name in sorted(used & for_types.keys()):
        yield f"    from {for_types[name]} import {name}"
    yield ""


def _unquote_annotations(owner: ast.ClassDef) -> None:
    for node in ast.walk(owner):
        if isinstance(node, ast.arg) and node.annotation is not None:
            node.annotation = Unquoted().visit(node.annotation)
        if isinstance(node, Function) and node.returns is not None:
            node.returns = Unquoted().visit(node.returns)


def _code(line: str) -> list[ast.stmt]:
    return ast.parse(line).body if "return" not in line else [_returned(line.removeprefix("return "))]


def _returned(expression: str) -> ast.Return:
    return ast.Return(ast.parse(expression, mode="eval").body)


def _indented(code: str, indent: str) -> str:
    return "\n".join(indent + line if line.strip() else line for line in code.split("\n"))


def _formatted(text: str) -> str:
    for command in (["check", "--fix-only", "--quiet"], ["format", "--quiet"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(PACKAGE / "sync.py"), "-"],
            input=text,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            check=True,
        )
        text = done.stdout
    return text


if __name__ == "__main__":
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else PACKAGE / "sync.py"
    path.write_text(generate(), encoding="utf-8")
