# SPDX-License-Identifier: Apache-2.0
"""Which programs our code starts, read from its source: the first word of what each call is given."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath

_STARTING = {
    "run": 0,
    "subprocess.run": 0,
    "subprocess.Popen": 0,
    "os.execve": 0,
    "shutil.which": 0,
    "Program": 1,
}
"""Calls that start a program or look for one, and which argument says it; of `Program`
(weir.adapters.daemon) the next one says the checker."""
_WITHOUT_RIGHTS = "without_root"
"""What it returns begins with setpriv; the program comes behind it."""
_DEEPEST = 8

Values = Mapping[str, Sequence[ast.expr]]


def started(source: str) -> tuple[set[str], list[int]]:
    """The programs of a module by name, and the lines of calls of which the source does not say it."""
    tree = ast.parse(source)
    values, found, unsaid = _values(tree), set[str](), []
    starting = {**_STARTING, **dict.fromkeys(_own(tree), 0)}
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and (place := starting.get(ast.unparse(call.func))) is not None:
            for argument in call.args[place : 2 * place + 1]:
                names = _first(argument, values)
                found |= names
                if not names and not _is_nothing(argument):
                    unsaid.append(call.lineno)
    return {PurePath(name).name for name in found}, unsaid


def modules(root: Path) -> Iterator[tuple[str, str]]:
    """Names below `root`, and sources."""
    for path in sorted(root.rglob("*.py")):
        yield path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")


def _own(tree: ast.AST) -> Iterator[str]:
    """Functions of the module's own that start what they are given."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == "_run" and "subprocess." in ast.unparse(node):
            yield node.name


def _values(tree: ast.AST) -> Values:
    """What a name may stand for: what is assigned to it, its default, or what the function returns."""
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        for name, value in _told(node):
            found.setdefault(name, []).append(value)
    return found


def _told(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=several)):
            yield from ((ast.unparse(name), value) for name, value in zip(names, several, strict=True))
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=value):
            yield from ((ast.unparse(name), value) for name in names)
        case ast.Assign(targets=[name], value=value) | ast.AnnAssign(target=name, value=ast.expr() as value):
            yield ast.unparse(name), value
        case ast.GeneratorExp(
            elt=elt, generators=[ast.comprehension(target=name, iter=ast.Tuple(elts=several))]
        ):
            if "shutil.which" in ast.unparse(elt):  # elsewhere the same name stands for other things
                yield from ((ast.unparse(name), value) for value in several)
        case ast.FunctionDef(name=called, args=ast.arguments(args=names, defaults=defaults)):
            returned = (each.value for each in ast.walk(node) if isinstance(each, ast.Return))
            yield from ((called, value) for value in returned if value is not None)
            late = names[len(names) - len(defaults) :]
            yield from ((name.arg, value) for name, value in zip(late, defaults, strict=True))


def _first(node: ast.expr, values: Values, depth: int = 0) -> set[str]:
    """Names of programs; none where the source does not say it."""
    if depth > _DEEPEST:
        return set()

    def of(several: Iterable[ast.expr]) -> set[str]:
        return {name for each in several for name in _first(each, values, depth + 1)}

    match node:
        case ast.Constant(value=str(text)):
            return set(text.split()[:1])
        case ast.JoinedStr(values=[ast.Constant(value=str(text)), *_]):
            return set(text.split()[:1]) if " " in text else set()
        case ast.Tuple(elts=[head, *rest]) | ast.List(elts=[head, *rest]):
            return of((head, *rest[:1]) if _WITHOUT_RIGHTS in ast.unparse(head) else (head,))
        case ast.BoolOp(values=several):
            return of(several)
        case ast.IfExp(body=one, orelse=other):
            return of((one, other))
        case ast.Starred(value=inner) | ast.Lambda(body=inner) | ast.GeneratorExp(elt=inner):
            return of((inner,))
        case ast.Call(func=ast.Attribute(value=inner, attr="split")):
            return of((inner,))
        case ast.Call(func=ast.Attribute(attr="which"), args=[inner, *_]):
            return of((inner,))
        case ast.Call(func=ast.Name(id=called)):
            return {"setpriv"} if called == _WITHOUT_RIGHTS else of(values.get(called, ()))
        case ast.Name() | ast.Attribute():
            name = ast.unparse(node)
            return {"python3"} if name == "sys.executable" else of(values.get(name, ()))
    return set()


def _is_nothing(node: ast.expr) -> bool:
    """A checker that there is none of: `lambda _: ()`."""
    return isinstance(node, ast.Lambda) and ast.unparse(node.body) == "()"
