"""A kind of device: what it is, what it can be told, and which work it takes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from pcielab import _core
from pcielab.errors import InputError
from pcielab.library.input_files import given_path, read_toml
from pcielab.library.profiles.part import Part
from pcielab.library.profiles.read import parse_sets
from pcielab.library.validation import checked
from pcielab.work.options import RunOptions, Work, WorkKind

Option: TypeAlias = Literal["profile", "set", "engine", "samples"]
"""An option that has an effect on some work on some devices; every run takes the others."""
OF_DEVICES: frozenset[Option] = frozenset({"profile", "set"})
OF_TRANSFERS: frozenset[Option] = frozenset({"profile", "set", "samples"})


@dataclass(frozen=True)
class Asked:
    """A device as it is asked for.

    Attributes:
        device: As people write it: the kind, and an address where there are several.
        kind: Its kind.
        address: Its address, if one was given.
        profile: What it is on, or how it is set up: a name, a file, or what was loaded of one. None: the default.
        sets: Changes to that, as `KEY=VALUE`.
        options: How the work is run.
    """

    device: str
    kind: "Kind"
    address: str | None = None
    profile: Any = None
    sets: Sequence[str] = ()
    options: RunOptions = field(default_factory=RunOptions)

    @property
    def given(self) -> dict[Option, object]:
        """The options of some work alone that were given."""
        options = self.options
        every: dict[Option, object] = {
            "profile": self.profile,
            "set": ", ".join(self.sets) or None,
            "engine": options.engine,
            "samples": options.samples,
        }
        return {option: value for option, value in every.items() if value is not None}


@dataclass(frozen=True)
class Carrier:
    """What carries some work out.

    Attributes:
        backend: The back end.
        tests: The work as the back end takes it.
        title: One line about the run, for people.
        name: What it runs on, in a few words.
        heading: The same above the row of a single test.
        described: What the manifest says of it, such as the `system` that is simulated.
    """

    backend: _core.Backend
    tests: str
    title: str
    name: str
    heading: str
    described: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Takes:
    """How a kind of device takes a kind of work.

    Attributes:
        carrier: Makes what carries it out; raises `InputError` for what cannot be.
        options: Options that have an effect.
    """

    carrier: Callable[[Asked, Any], Carrier]
    options: frozenset[Option]


def by_options(asked: Asked, work: Work) -> Carrier:
    """Work on a device that is made from its options and its address."""
    device = asked.device
    backend = asked.kind.backend(device, asked.address, _options_file(asked), parse_sets(asked.sets))
    return Carrier(backend, work.to_json(), f"{device}, suite {work.name}", device, device)


def messages_by_options(asked: Asked, suite: Any) -> Carrier:
    """Messages on a device that exists: what only a simulator can be told is null."""
    return replace(by_options(asked, suite), tests=suite.to_json(simulated=False))


@dataclass(frozen=True)
class Kind:
    """A kind of device.

    Attributes:
        name: The word that it is chosen by.
        title: One line for people.
        options: Everything that it can be told: a model with the tables `device` and `host`, as far as it has
            them; of a kind on a system, the model of a system.
        make: Makes the back end from options and an address (`cuda:1`); raises `InputError` for what cannot be.
            None: the kind is on a system, which `takes` finds by its name.
        present: What could be measured here: names, and what is missing for each, empty for nothing. Opens
            nothing.
        takes: The work that it takes, and how.
        needs_address: Whether an address has to be given, such as `nvme:0000:3b:00.0`.
        titled: One line about one of what is present, where those differ.
    """

    name: str
    title: str
    options: type[Part]
    make: Callable[[Any, Any], _core.Backend] | None
    present: Callable[[], Sequence[tuple[str, str]]]
    takes: Mapping[WorkKind, Takes] = field(default_factory=lambda: {"transfers": Takes(by_options, OF_TRANSFERS)})
    needs_address: bool = False
    titled: Callable[[str], str] | None = None

    @property
    def as_written(self) -> str:
        """What `--device` takes for it."""
        return f"{self.name}:ADDRESS" if self.needs_address else self.name

    def backend(
        self, device: str, address: str | None, profile: Mapping[str, Any], sets: Mapping[str, object]
    ) -> _core.Backend:
        """The back end of a device, which `device` names as people write it.

        Raises:
            InputError: Its options cannot be, or its address is missing.
        """
        if self.make is None:
            raise InputError(f"--device {device}: runs on a system: give the system's name to pcielab.run")
        options = checked(self.options, _with_changes(profile, sets), f"--device {self.name}")
        if self.needs_address and address is None:
            raise InputError(
                f"--device {self.name}: give the device's address, such as {self.name}:0000:3b:00.0: "
                "`pcielab devices list`"
            )
        return self.make(options, address)


def _options_file(asked: Asked) -> Mapping[str, Any]:
    """The options of a device: what was loaded of them, or those in a file."""
    profile = asked.profile
    if profile is None or isinstance(profile, Mapping):
        return profile or {}
    if not str(profile).endswith(".toml"):
        raise InputError(
            f"--profile {profile}: names a system for --device sim: give {asked.device} a file of its options "
            "(*.toml), or --set device.KEY=VALUE and --set host.KEY=VALUE"
        )
    return read_toml(given_path(str(profile)))


def _with_changes(content: Mapping[str, Any], changes: Mapping[str, object]) -> dict[str, Any]:
    changed = {key: dict(value) if isinstance(value, Mapping) else value for key, value in content.items()}
    for key, value in changes.items():
        table, _, last = key.partition(".")
        inner = changed.setdefault(table, {})
        if not last or not isinstance(inner, dict):
            raise InputError(f"--set {key}: give device.KEY=VALUE or host.KEY=VALUE")
        inner[last] = value
    return changed
