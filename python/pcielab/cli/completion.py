"""Tab completion: shipped profiles and suites with their titles, keys, devices, words; otherwise files."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import typer

from pcielab.library import shipped
from pcielab.library.shipped import DescriptionKind, ProfileKind, SuiteKind

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


def set_option(text: str, *kinds: DescriptionKind, system: bool = False) -> Any:
    """The option `--set`, with completion of its keys.

    Args:
        text: What it changes, in words.
        kinds: Kinds of descriptions whose keys it takes after the kind (`nic.queues.pairs`), if a parameter of the
            command names such a description.
        system: Whether it takes keys of a system, or of the options of a device.
    """

    def complete(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
        keys = _keys_of_system(context) if system else {}
        for kind in kinds:
            if incomplete.startswith(kind) or not system:
                keys |= {f"{kind}.{key}": text for key, text in _keys_of(kind, context.params)}
        return [(f"{key}=", meaning) for key, meaning in keys.items() if key.startswith(incomplete)]

    return typer.Option("--set", metavar="KEY=VALUE", autocompletion=complete, help=f"{text}; repeatable.")


_NAMING: dict[DescriptionKind, tuple[str, ...]] = {
    "nic": ("nic", "nics"),
    "engine": ("engines",),
    "expander": ("expanders",),
    "core": ("core",),
    "bar": ("bar",),
    "messages": ("profile",),
    "fabric": ("file", "asked"),
}
"""Parameters of commands that name descriptions, one or several."""


def _keys_of(kind: DescriptionKind, given: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The keys of the description that the parameters of a command name; none if it cannot be read."""
    from pcielab.errors import InputError
    from pcielab.library.catalog import described

    named = next((named for word in _NAMING[kind] if (named := given.get(word))), None)
    name = named[0] if isinstance(named, list | tuple) else named
    try:
        return described(kind, str(name)).handle.keys() if name else []
    except InputError:
        return []


def _keys_of_system(context: typer.Context) -> dict[str, str]:
    """The keys of a system, or of the options of the device that `--device` names, but for those of tables."""
    from pcielab import _core

    keys = dict(_core.System.keys())
    source = context.get_parameter_source("device")
    if source is not None and source.name == "COMMANDLINE":
        from pcielab.devices.registry import kind_of
        from pcielab.library.validation import known_keys

        # A kind without options runs on a system.
        kind, _ = kind_of(context.params["device"])
        keys = dict.fromkeys(known_keys(kind.options), "") if kind.options else keys
    tables = {key.rpartition(".")[0] for key in keys}
    return {key: meaning for key, meaning in keys.items() if key not in tables}


def device_kinds(incomplete: str) -> list[tuple[str, str]]:
    """Complete `--device`: the kinds, and after `KIND:` the addresses that are present."""
    from pcielab.devices.real import listed
    from pcielab.devices.registry import kinds

    offers = [(f"{kind.name}:" if kind.needs_address else kind.name, kind.title) for kind in kinds().values()]
    if ":" in incomplete:
        offers = [(f"{device.kind}:{device.address}", device.title) for device in listed()]
    return [(word, text) for word, text in offers if word.startswith(incomplete)]


def choice(option: str, words: Sequence[str], text: str) -> Any:
    """An option that takes one of a few words; help lists them and Tab completes them.

    The library checks the value, because its messages say more than Typer's.
    """

    def complete(incomplete: str) -> list[str]:
        return [word for word in words if word.startswith(incomplete)]

    return typer.Option(option, help=f"{text}: {', '.join(words)}.", metavar="WORD", autocompletion=complete)
