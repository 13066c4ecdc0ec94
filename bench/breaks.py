"""`make breaks`: break product code at random, a line at a time, and see that the tests of that part notice.

    python bench/breaks.py --part stores --seeds 1:20

A break changes one expression or statement of a Python module of the part: a comparison, an operator, a condition,
a number, or a `raise` that is dropped. It is made in a copy of the package, in which the tests of the part run. A
break that no test notices is printed: it is a gap in the tests, or it changes nothing that can be seen.
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = Path("python/pcielab")


@dataclass(frozen=True)
class Part:
    """Modules of the package, and the tests that guard them.

    Attributes:
        modules: Patterns below `python/pcielab`.
        tests: Files and folders of tests; those in `python/` run from the copy.
    """

    modules: tuple[str, ...]
    tests: tuple[str, ...]


PARTS = {
    "descriptions": Part(
        ("library/**/*.py",),
        (
            "python/pcielab/library",
            "tests/mutations",
            "tests/test_bad_files.py",
            "tests/test_own_profiles.py",
            "tests/test_same_refusals.py",
            "tests/test_wrong_keys.py",
        ),
    ),
    "stores": Part(
        ("store/*.py", "formats/**/*.py"),
        (
            "python/pcielab/store",
            "python/pcielab/formats",
            "tests/mutations",
            "tests/test_foreign_stores.py",
            "tests/test_tool_imports.py",
        ),
    ),
    "why": Part(
        ("analysis/why/*.py",),
        (
            "tests/test_worded_claims.py",
            "python/pcielab/analysis/why",
            "tests/test_why_command.py",
            "tests/test_same_answers.py",
        ),
    ),
    "analysis": Part(
        (
            *("analysis/compare/*.py", "analysis/explain/*.py", "analysis/normal/*.py", "analysis/validate/*.py"),
            "kinds/**/*.py",
        ),
        (
            "python/pcielab/analysis",
            "python/pcielab/kinds",
            "tests/test_kinds.py",
            "tests/test_regression_gate.py",
        ),
    ),
    "doctor": Part(
        ("doctor/**/*.py",), ("python/pcielab/doctor", "tests/mutations", "tests/test_doctor_texts.py")
    ),
    "fabric": Part(
        ("fabric/*.py",), ("tests/test_fabric.py", "tests/test_fabric_flows.py", "tests/test_own_fabric.py")
    ),
}

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
}  # fmt: skip


def breaks_of(tree: ast.Module) -> Iterator[tuple[ast.AST, Callable[[], None]]]:
    """Every break of a module: the node that it changes, and what makes it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARISONS:
            yield node, lambda node=node: node.ops.__setitem__(0, _COMPARISONS[type(node.ops[0])]())
        elif isinstance(node, ast.BoolOp):
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield node, lambda node=node, other=other: setattr(node, "op", other)
        elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS and not _of_text(node):
            yield node, lambda node=node: setattr(node, "op", _OPERATORS[type(node.op)]())
        elif isinstance(node, ast.If | ast.IfExp):
            yield node.test, lambda node=node: setattr(node, "test", ast.UnaryOp(ast.Not(), node.test))
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            yield node, lambda node=node: setattr(node, "value", node.value + 1)
        for _, statements in ast.iter_fields(node):
            if isinstance(statements, list):
                for index, inner in enumerate(statements):
                    if isinstance(inner, ast.Raise):
                        yield inner, lambda held=statements, index=index: held.__setitem__(index, ast.Pass())


def _of_text(node: ast.BinOp) -> bool:
    return any(isinstance(side, ast.JoinedStr | ast.List | ast.Tuple) for side in (node.left, node.right)) or any(
        isinstance(side, ast.Constant) and isinstance(side.value, str) for side in (node.left, node.right)
    )


def modules_of(part: Part) -> list[Path]:
    """The product modules of a part, in order, relative to the package."""
    package = ROOT / PACKAGE
    found = {path for pattern in part.modules for path in package.glob(pattern)}
    return sorted(
        path.relative_to(package)
        for path in found
        if not path.name.startswith(("test_", "conftest")) and "shipped_data" not in path.parts
    )


def broken(part: Part, seed: int) -> tuple[Path, str, str]:
    """A module, its source with one break, and the break in words; every site in the part is equally likely."""
    sites = [
        (module, index)
        for module in modules_of(part)
        for index, _ in enumerate(breaks_of(ast.parse((ROOT / PACKAGE / module).read_text())))
    ]
    module, index = random.Random(seed).choice(sites)
    tree = ast.parse((ROOT / PACKAGE / module).read_text())
    node, change = list(breaks_of(tree))[index]
    line, before = getattr(node, "lineno", 0), ast.unparse(node)
    change()
    after = "pass" if isinstance(node, ast.Raise) else ast.unparse(node)
    return (
        module,
        ast.unparse(tree),
        f"{module}:{line}: {before}  ->  {after if after != before else f'not {before}'}",
    )


def noticed(part: Part, module: Path, source: str) -> bool:
    """Whether the tests of a part fail with a module replaced."""
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name) / PACKAGE
        shutil.copytree(ROOT / PACKAGE, copy, symlinks=False)
        (copy / module).write_text(source)
        for shared in ("tests", "conftest.py", "pyproject.toml", "docs", "examples", "profiles", "suites"):
            (Path(name) / shared).symlink_to(ROOT / shared)
        tests = [test for test in part.tests if (Path(name) / test).exists()]
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "--no-header", "-p", "no:cacheprovider"]
        environment = os.environ | {"PYTHONPATH": str(copy.parent), "PYTHONDONTWRITEBYTECODE": "1"}
        ended = subprocess.run([*command, *tests], cwd=name, env=environment, capture_output=True, check=False)
        return ended.returncode != 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Break each part once for each seed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", action="append", choices=sorted(PARTS), help="repeatable [default: all in turn]")
    parser.add_argument("--seeds", default="1:20", help="first and last seed [default: 1:20]")
    parser.add_argument("--list", action="store_true", help="print the breaks without running tests")
    options = parser.parse_args(arguments)
    names = options.part or sorted(PARTS)
    first, last = (int(seed) for seed in options.seeds.split(":"))
    missed = 0
    for seed in range(first, last + 1):
        name = names[(seed - first) % len(names)]
        module, source, words = broken(PARTS[name], seed)
        verdict = "listed" if options.list else "noticed" if noticed(PARTS[name], module, source) else "MISSED"
        missed += verdict == "MISSED"
        print(f"seed {seed:3} {name:13} {verdict:8} {words}", flush=True)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
