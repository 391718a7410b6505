"""Files that a script in a command line writes, as far as its text alone tells.

Of Python the script is followed statement by statement with what its names may stand for; nothing is run. A
write that may not be reached, or whose path is one of several, is told apart from one that is sure; a path
that cannot be told is left out.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from posixpath import join
from typing import TypeAlias, cast

__all__ = ["Written", "written_by_calls", "written_by_python"]

_Value: TypeAlias = "str | tuple[_Value, ...] | dict[str, _Value] | None"
"""What an expression stands for: a text or path, a sequence, a table, or None where that cannot be told."""

_WRITES = re.compile(r"open\(|write_(?:text|bytes)\(|fileinput|shutil|os\.re(?:name|place)")
_PATHS = ("Path", "PurePath", "PosixPath", "str", "os.path.join", "os.path.abspath", "pathlib.Path")
_SAME = ("list", "tuple", "sorted", "reversed", "set")
_COPIES = (
    "shutil.copy", "shutil.copy2", "shutil.copyfile", "shutil.move", "os.rename", "os.replace",
)  # fmt: skip
_OPENS = ("open", "io.open", "codecs.open")
_MODE = re.compile(r"[rwaxbt+]{1,4}")
_MOST = 64  # values of one expression, rounds of one loop
_STEPS = 4_000
_DEEPEST = 4  # calls of functions that are followed
# What makes it unsure in other languages that a call is reached.
_BRANCHES = re.compile(r"\b(?:if|unless|catch|rescue|function|def|return|for|while|exit)\b|=>|\?")


@dataclass(slots=True)
class Written:
    """Files that are written: those surely, those perhaps; of both, what is read in the same script."""

    sure: dict[str, None] = field(default_factory=dict[str, None])
    perhaps: dict[str, None] = field(default_factory=dict[str, None])
    read: set[str] = field(default_factory=set[str])


def written_by_calls(script: str, calls: re.Pattern[str]) -> Written:
    """What a script in some language writes by `calls`, whose path is the group `path` or the name `name`."""
    found = Written()
    unsure = _BRANCHES.search(script) is not None
    for match in calls.finditer(script):
        path = match["path"]
        if path is None:
            assigned = re.findall(rf"\b{re.escape(match['name'])}\s*=(?!=)\s*(['\"]?)([^'\"\n$]*)\1", script)
            path = assigned[0][1] if len(assigned) == 1 and assigned[0][0] else None
        if path:
            (found.perhaps if unsure else found.sure)[path] = None
    return found


def written_by_python(script: str, arguments: Sequence[str] = ()) -> Written:
    """What a Python script writes that runs to its end."""
    if not _WRITES.search(script):
        return Written()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(script)
        walk = _Walk(tuple(arguments))
        walk.block(tree.body, sure=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Written()
    found = walk.written
    found.perhaps = {path: None for path in found.perhaps if path not in found.sure}
    if "chdir(" in script:  # relative to where, is not told
        for paths in (found.sure, found.perhaps):
            for path in [path for path in paths if not path.startswith("/")]:
                del paths[path]
    return found


class _Walk:
    """A walk through a script in the order in which it runs."""

    def __init__(self, arguments: tuple[str, ...]) -> None:
        self.written = Written()
        self._names: dict[str, list[_Value]] = {"sys.argv": [("", *arguments)]}
        self._functions: dict[str, ast.FunctionDef] = {}
        self._depth = self._steps = 0

    def block(self, body: Sequence[ast.stmt], *, sure: bool) -> None:
        for statement in body:
            self._steps += 1
            if self._steps > _STEPS:
                return
            self._statement(statement, sure)
            sure = sure and not _leaves(statement)

    def _statement(self, node: ast.stmt, sure: bool) -> None:  # noqa: PLR0912 -- a branch for each kind
        match node:
            case ast.FunctionDef():
                self._functions[node.name] = node
            case ast.Assign():
                self._calls(node.value, sure)
                values = self._values(node.value)
                for target in node.targets:
                    self._bind(target, values)
            case ast.AnnAssign(value=ast.expr() as value):
                self._calls(value, sure)
                self._bind(node.target, self._values(value))
            case ast.AugAssign():
                self._calls(node.value, sure)
                self._bind(node.target, [None])
            case ast.For():
                self._calls(node.iter, sure)
                for value, certain in self._rounds(node.iter):
                    self._bind(node.target, [value])
                    self.block(node.body, sure=sure and certain)
                self.block(node.orelse, sure=False)
            case ast.While():
                self._branches(node.body, node.orelse)
            case ast.If():
                self._calls(node.test, sure)
                if "__name__" in ast.dump(node.test):
                    self.block(node.body, sure=sure)
                else:
                    self._branches(node.body, node.orelse)
            case ast.With():
                for item in node.items:
                    self._calls(item.context_expr, sure)
                    if item.optional_vars:
                        self._bind(item.optional_vars, [None])
                self.block(node.body, sure=sure)
            case ast.Try():
                self.block(node.body, sure=sure and not node.handlers)
                self._branches(*(handler.body for handler in node.handlers), node.orelse)
                self.block(node.finalbody, sure=sure)
            case ast.ClassDef() | ast.AsyncFunctionDef():
                pass
            case _:
                self._calls(node, sure)

    def _branches(self, *bodies: Sequence[ast.stmt]) -> None:
        """Bodies of which one runs, or none; afterwards a name may stand for what it did in any."""
        before = dict(self._names)
        after = {name: list(values) for name, values in before.items()}
        for body in bodies:
            self._names = dict(before)
            self.block(body, sure=False)
            for name, values in self._names.items():
                known = after.setdefault(name, [None])
                known += [value for value in values if value not in known]
        self._names = after

    def _rounds(self, node: ast.expr) -> Iterator[tuple[_Value, bool]]:
        values = self._values(node)
        for value in values:
            if isinstance(value, (tuple, dict)):
                yield from ((item, len(values) == 1) for item in list(value)[:_MOST])
            else:
                yield None, False

    def _bind(self, target: ast.expr, values: list[_Value]) -> None:
        if isinstance(target, ast.Name):
            self._names[target.id] = values[:_MOST]
        elif isinstance(target, (ast.Tuple, ast.List)):
            whole = values[0] if len(values) == 1 else None
            parts = whole if isinstance(whole, tuple) and len(whole) == len(target.elts) else None
            for number, inner in enumerate(target.elts):
                self._bind(inner, [parts[number] if parts else None])

    def _values(self, node: ast.expr) -> list[_Value]:  # noqa: PLR0911, PLR0912 -- one for each kind
        """What an expression may stand for."""
        match node:
            case ast.Constant(value=str(text)):
                return [text]
            case ast.Name():
                return self._names.get(node.id, [None])
            case ast.Attribute():
                return self._names.get(_dotted(node), [None])
            case ast.Tuple() | ast.List() | ast.Set():
                return [tuple(self._one(item) for item in node.elts)]
            case ast.Dict():
                keys = [key and self._one(key) for key in node.keys]
                if not all(isinstance(key, str) for key in keys):
                    return [None]
                values = (self._one(item) for item in node.values)
                return [dict(zip(cast("list[str]", keys), values, strict=True))]
            case ast.BinOp(op=ast.Div()):
                return self._joined((node.left, node.right), join)
            case ast.BinOp(op=ast.Add()):
                return self._joined((node.left, node.right), str.__add__)
            case ast.JoinedStr():
                pieces = [
                    piece.value if isinstance(piece, ast.FormattedValue) else piece for piece in node.values
                ]
                return self._joined(pieces, str.__add__)
            case ast.IfExp():
                return [*self._values(node.body), *self._values(node.orelse)]
            case ast.Subscript():
                return [self._part(node)]
            case ast.Call():
                return self._called(node)
            case _:
                return [None]

    def _one(self, node: ast.expr) -> _Value:
        values = self._values(node)
        return values[0] if len(values) == 1 else None

    def _joined(self, nodes: Sequence[ast.expr], how: object) -> list[_Value]:
        found: list[_Value] = []
        for parts in product(*(self._values(node) for node in nodes)):
            if not parts or not all(isinstance(part, str) for part in parts) or len(found) >= _MOST:
                return [None]
            words = cast("tuple[str, ...]", parts)
            whole = words[0]
            for word in words[1:]:
                whole = join(whole, word) if how is join else whole + word
            found.append(whole)
        return found

    def _part(self, node: ast.Subscript) -> _Value:
        whole = self._one(node.value)
        match node.slice:
            case ast.Constant(value=int(at)) if isinstance(whole, tuple) and -len(whole) <= at < len(whole):
                return whole[at]
            case ast.Slice(lower=ast.Constant(value=int(at)), upper=None, step=None) if isinstance(
                whole, tuple
            ):
                return whole[at:]
            case ast.Constant(value=str(key)) if isinstance(whole, dict):
                return whole.get(key)
            case _:
                return None

    def _called(self, node: ast.Call) -> list[_Value]:
        name = _dotted(node.func)
        if name in _PATHS and node.args:
            return self._joined(node.args, join)
        if name in _SAME and len(node.args) == 1:
            return self._values(node.args[0])
        if isinstance(node.func, ast.Attribute) and not node.args:
            whole = self._one(node.func.value)
            if isinstance(whole, dict):
                tables: Mapping[str, Sequence[_Value]] = {
                    "items": [(key, value) for key, value in whole.items()],
                    "keys": list(whole),
                    "values": list(whole.values()),
                }
                if (rows := tables.get(node.func.attr)) is not None:
                    return [tuple(rows)]
        return [None]

    def _calls(self, node: ast.AST, sure: bool) -> None:
        """Take in the calls in an expression or a plain statement."""
        match node:
            case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                return  # their names are their own
            case ast.BoolOp() | ast.IfExp():
                sure = False
            case _:
                pass
        for inner in ast.iter_child_nodes(node):
            self._calls(inner, sure)
        if isinstance(node, ast.Call):
            self._call(node, sure)

    def _call(self, node: ast.Call, sure: bool) -> None:
        name = _dotted(node.func)
        args = node.args
        options = {word.arg: word.value for word in node.keywords}
        if (function := self._functions.get(name)) and self._depth < _DEEPEST:
            self._follow(function, node, sure)
        elif name in _OPENS and args:
            self._opened(args[0], args[1] if len(args) > 1 else options.get("mode"), sure)
        elif name == "fileinput.input" and "inplace" in options and args:
            for value in self._values(args[0]):
                for path in value if isinstance(value, tuple) else (value,):
                    self._note([path], sure, read=True)
        elif name in _COPIES and len(args) == 2:
            self._note(self._values(args[1]), sure)
        elif isinstance(node.func, ast.Attribute):
            owner = node.func.value
            match node.func.attr:
                case "write_text" | "write_bytes":
                    self._note(self._values(owner), sure)
                case "read_text" | "read_bytes":
                    self._opened(owner, None, sure)
                case "open" if name not in _OPENS:
                    self._opened(owner, args[0] if args else options.get("mode"), sure)
                case _:
                    pass

    def _opened(self, path: ast.expr, mode: ast.expr | None, sure: bool) -> None:
        how = "r" if mode is None else self._one(mode)
        if not isinstance(how, str) or not _MODE.fullmatch(how):
            return
        if "r" in how:
            self.written.read.update(value for value in self._values(path) if isinstance(value, str))
        if set(how) & set("wax+"):
            self._note(self._values(path), sure, read="a" in how)

    def _note(self, values: Sequence[_Value], sure: bool, *, read: bool = False) -> None:
        for value in values:
            if isinstance(value, str) and value.strip() and "\n" not in value:
                (self.written.sure if sure and len(values) == 1 else self.written.perhaps)[value] = None
                if read:
                    self.written.read.add(value)

    def _follow(self, function: ast.FunctionDef, node: ast.Call, sure: bool) -> None:
        before = dict(self._names)
        names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
        given: dict[str, list[_Value]] = {name: [None] for name in names}
        given |= {name: self._values(value) for name, value in zip(names, node.args, strict=False)}
        given |= {word.arg: self._values(word.value) for word in node.keywords if word.arg in given}
        self._names |= given
        self._depth += 1
        self.block(function.body, sure=sure)
        self._depth -= 1
        self._names = before


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (owner := _dotted(node.value)):
        return f"{owner}.{node.attr}"
    return ""


def _leaves(node: ast.stmt) -> bool:
    """Whether what follows a statement may not be reached, though the script ends well."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return False
    looped = isinstance(node, (ast.For, ast.While))
    for inner in ast.walk(node):
        if isinstance(inner, ast.Return) or (not looped and isinstance(inner, (ast.Break, ast.Continue))):
            return True
        if isinstance(inner, ast.Call) and _dotted(inner.func).split(".")[-1] in ("exit", "_exit", "quit"):
            code = inner.args[0] if inner.args else None
            if code is None or (isinstance(code, ast.Constant) and code.value in (0, None)):
                return True
    return False
