"""Kinds of devices: their options, and the work that they take."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from pcielab import _core
from pcielab.errors import refusal
from pcielab.library.input_files import given_path, read_toml
from pcielab.library.profiles.files import system_schema
from pcielab.library.profiles.part import Part
from pcielab.library.profiles.read import parse_sets
from pcielab.library.validation import checked
from pcielab.work.options import RunOptions, Work, WorkKind

Option: TypeAlias = Literal["profile", "set", "engine", "samples", "trace"]
"""An option that only some work on some devices takes; every run takes the others."""
OF_DEVICES: frozenset[Option] = frozenset({"profile", "set"})
OF_TRANSFERS: frozenset[Option] = frozenset({"profile", "set", "samples"})


@dataclass(frozen=True)
class Asked:
    """A request for a device.

    Attributes:
        device: As `--device` takes it: the kind, and an address if it has any.
        address: Its address, if one was given.
        profile: Its system or its options: a name, a file, or the loaded content. None: the default.
        sets: Changes to the profile, as `KEY=VALUE`.
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
        """The given options that not all work takes."""
        options = self.options
        every: dict[Option, object] = {
            "profile": self.profile,
            "set": ", ".join(self.sets) or None,
            "engine": options.engine,
            "samples": options.samples,
            "trace": None if options.trace is None else f"{options.trace:g}us",
        }
        return {option: value for option, value in every.items() if value is not None}


@dataclass(frozen=True)
class Carrier:
    """A back end and the work that it carries out.

    Attributes:
        tests: The work as the back end takes it.
        title: One line about the run, for people.
        name: The device or system, in a few words.
        heading: The same above the row of a single test.
        described: Entries of the manifest, for example the simulated `system`.
    """

    backend: _core.Backend
    tests: "_core.Suite | str | Work"
    title: str
    name: str
    heading: str
    described: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Takes:
    """How a kind of device takes a kind of work.

    Attributes:
        carrier: Makes the carrier; raises `InputError` for unsupported values.
        options: Options that it takes.
    """

    carrier: Callable[[Asked, Any], Carrier]
    options: frozenset[Option]


def by_options(asked: Asked, work: Work) -> Carrier:
    """Carry work out on a device that is made from its options and address."""
    device = asked.device
    backend = asked.kind.backend(device, asked.address, _options_file(asked), parse_sets(asked.sets))
    return Carrier(backend, work.to_json(), f"{device}, suite {work.name}", device, device)


def messages_by_options(asked: Asked, suite: Any) -> Carrier:
    """Carry messages out on a real device: parameters of simulators alone are null."""
    return replace(by_options(asked, suite), tests=suite.to_json(simulated=False))


@dataclass(frozen=True)
class Kind:
    """A kind of device.

    Attributes:
        name: The word that chooses it.
        title: One line for people.
        options: Model of its options, with the tables `device` and `host` that it has; None for a kind on a
            system, whose keys are the options.
        make: Makes the back end from options and an address (`cuda:1`); raises `InputError` for wrong values.
            None: the kind runs on a system, which `takes` finds by its name.
        present: Names of the devices here, each with why it cannot be measured, empty if it can. Opens nothing.
        takes: The work that it takes, and how.
        needs_address: Whether an address is required, as in `nvme:0000:3b:00.0`.
        titled: One line about a present device, if their titles differ.
    """

    name: str
    title: str
    options: type[Part] | None
    make: Callable[[Any, Any], _core.Backend] | None
    present: Callable[[], Sequence[tuple[str, str]]]
    takes: Mapping[WorkKind, Takes] = field(default_factory=lambda: {"transfers": Takes(by_options, OF_TRANSFERS)})
    needs_address: bool = False
    titled: Callable[[str], str] | None = None

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its options."""
        return system_schema() if self.options is None else self.options.model_json_schema()

    @property
    def as_written(self) -> str:
        """Its form for `--device`."""
        return f"{self.name}:ADDRESS" if self.needs_address else self.name

    def backend(
        self, device: str, address: str | None, profile: Mapping[str, Any], sets: Mapping[str, object]
    ) -> _core.Backend:
        """Make the back end of a device; `device` is its form for `--device`.

        Raises:
            InputError: An option is wrong, or the address is missing.
        """
        if self.make is None or self.options is None:
            raise refusal("missing", f"--device {device}: runs on a system: give the system's name to pcielab.run")
        options = checked(self.options, _with_changes(profile, sets), f"--device {self.name}")
        if self.needs_address and address is None:
            raise refusal(
                "missing",
                f"--device {self.name}: give the device's address, for example {self.name}:0000:3b:00.0: "
                "`pcielab devices list`",
            )
        return self.make(options, address)


def _options_file(asked: Asked) -> Mapping[str, Any]:
    """The options of a device, loaded already or from a file."""
    profile = asked.profile
    if profile is None or isinstance(profile, Mapping):
        return profile or {}
    if not str(profile).endswith(".toml"):
        raise refusal(
            "conflict",
            f"--profile {profile}: names a system for --device sim: give {asked.device} a file of its options "
            "(*.toml), or --set device.KEY=VALUE and --set host.KEY=VALUE",
        )
    return read_toml(given_path(str(profile)))


def _with_changes(content: Mapping[str, Any], changes: Mapping[str, object]) -> dict[str, Any]:
    changed = {key: dict(value) if isinstance(value, Mapping) else value for key, value in content.items()}
    for key, value in changes.items():
        table, _, last = key.partition(".")
        inner = changed.setdefault(table, {})
        if not last or not isinstance(inner, dict):
            raise refusal("unknown-key", f"--set {key}: give device.KEY=VALUE or host.KEY=VALUE")
        inner[last] = value
    return changed
