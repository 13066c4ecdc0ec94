"""Tab completion: shipped profiles and suites with their titles, and words of fixed choices; otherwise files."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import typer

from pcielab.library import shipped
from pcielab.library.shipped import ProfileKind, SuiteKind

Completion: TypeAlias = Callable[[str], list[tuple[str, str]]]


def profile_names(*kinds: ProfileKind) -> Completion:
    """Complete the names of shipped profiles of these kinds."""
    return _titled(lambda: (_with_aliases(kind) for kind in kinds))


def _with_aliases(kind: ProfileKind) -> dict[str, Path]:
    files = shipped.profile_files(kind)
    return {**files, **{alias: files[name] for alias, name in shipped.aliases(kind).items()}}


def suite_names(*kinds: SuiteKind) -> Completion:
    """Complete the names of shipped suites of these kinds."""
    return _titled(lambda: (shipped.suite_files(kind) for kind in kinds))


def _titled(listed: Callable[[], Iterable[dict[str, Path]]]) -> Completion:
    def complete(incomplete: str) -> list[tuple[str, str]]:
        return [
            (name, shipped.title(path))
            for files in listed()
            for name, path in files.items()
            if name.startswith(incomplete)
        ]

    return complete


def choice(option: str, words: Sequence[str], text: str) -> Any:
    """An option that takes one of a few words; help lists them and Tab completes them.

    The library checks the value, because its messages say more than Typer's.
    """

    def complete(incomplete: str) -> list[str]:
        return [word for word in words if word.startswith(incomplete)]

    return typer.Option(option, help=f"{text}: {', '.join(words)}.", metavar="WORD", autocompletion=complete)
