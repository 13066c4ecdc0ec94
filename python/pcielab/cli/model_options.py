"""The options of every command that asks the model: the link, the accounting and other limits, each defined once.

`takes_model_options` adds all of them to a command, which gets them as one value. Commands that change single keys
of another link take those of `link_option`.
"""

import functools
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pcielab.cli.completion import set_option
from pcielab.cli.option_groups import Command, annotated, takes
from pcielab.cli.quantities import size_option
from pcielab.errors import InputError, refusal, with_message
from pcielab.library.link import Link
from pcielab.library.usual_link import USUAL_MPS_BYTES, USUAL_MRRS_BYTES, USUAL_ROUND_TRIPS_NS
from pcielab.model.link import Accounting, Limits
from pcielab.wording import named

if TYPE_CHECKING:
    from pcielab.library.nics import NicProfile


@dataclass(frozen=True, kw_only=True)
class ModelOption:
    """An option: its name, what it means, and the key of the library that it sets."""

    name: str
    key: str
    of: Literal["link", "limits"]
    kind: Any
    meaning: str
    default: Any = None
    unless: str = ""
    """The default in words, if the value itself does not say it."""
    is_size: bool = False
    least: int | None = None

    def option(self, text: str | None = None, **more: Any) -> Any:
        """The option as Typer takes it, with another text."""
        shows = self.default is not None and not more.pop("hides_default", False)
        more.setdefault("rich_help_panel", self.of.title())
        text = text or f"{self.meaning}{self.unless and f'  [default: {self.unless}]'}"
        made = size_option if self.is_size else typer.Option
        return made(self.name, help=text, min=self.least, show_default=shows, **more)


def _link(name: str, key: str, kind: Any, default: Any, meaning: str, **more: Any) -> ModelOption:
    return ModelOption(name=name, key=key, of="link", kind=kind, default=default, meaning=meaning, **more)


def _limit(name: str, key: str, kind: Any, meaning: str, **more: Any) -> ModelOption:
    least = 1 if kind is int else None
    return ModelOption(name=name, key=key, of="limits", kind=kind | None, meaning=meaning, least=least, **more)


MODEL_OPTIONS = (
    _link("--gen", "generation", int, 3, "PCIe generation, 1 to 7."),
    _link("--lanes", "lanes", int, 8, "Link width: 1, 2, 4, 8, 12, 16 or 32."),
    _link("--mps", "mps_bytes", int, USUAL_MPS_BYTES, "Maximum Payload Size, 128 to 4096.", is_size=True),
    _link("--mrrs", "mrrs_bytes", int, USUAL_MRRS_BYTES, "Maximum Read Request Size, 128 to 4096.", is_size=True),
    _link(
        "--rcb",
        "rcb_bytes",
        int,
        64,
        "Read Completion Boundary, 64 or 128; with `sigcomm18` also 256 or 512.",
        is_size=True,
    ),
    _link("--addr", "address_bits", int, 64, "Address width in bits, 32 or 64 (headers of 3 or 4 DW)."),
    _link("--ecrc", "ecrc", bool, False, "TLPs carry an end-to-end CRC."),
    _link(
        "--completion-ecrc/--no-completion-ecrc",
        "completion_ecrc",
        bool | None,
        None,
        "Completions carry an end-to-end CRC, which the other end appends.",
        unless="as with --ecrc",
    ),
    _link("--flit/--no-flit", "flit_mode", bool | None, None, "Use flit mode.", unless="only in Gen6 and Gen7"),
    _link(
        "--ide",
        "ide_tlps",
        int | None,
        None,
        "TLPs are encrypted (IDE), and 1 to 8 of them share a MAC; 1: each has its own.",
        unless="no IDE",
    ),
    _limit(
        "--rtt-ns",
        "round_trip_ns",
        float,
        "Round-trip time of a read, from request to data, in ns; 500 to 1000 on most servers.",
    ),
    _limit("--tags", "tags", int, "Outstanding read requests; needs --rtt-ns."),
    _limit("--in-flight", "dmas_in_flight", int, "DMAs in flight; needs --rtt-ns."),
    _limit("--credit-rtt-ns", "credit_return_ns", float, "Time from a TLP to the return of its credit, in ns."),
    _limit("--posted-headers", "posted_header_credits", int, "Posted header credits; needs --credit-rtt-ns."),
    _limit("--posted-data", "posted_data_credits", int, "Posted data credits of 16 B; needs --credit-rtt-ns."),
    _limit(
        "--non-posted-headers",
        "non_posted_header_credits",
        int,
        "Non-posted header credits; needs --credit-rtt-ns.",
    ),
    _limit(
        "--completion-headers",
        "completion_buffer_headers",
        int,
        "Headers in the device's buffer for completions; needs --rtt-ns.",
    ),
    _limit(
        "--completion-buffer",
        "completion_buffer_bytes",
        int,
        "Bytes of data in the device's buffer for completions; needs --rtt-ns.",
    ),
    _limit("--device-rate", "device_mdmas_per_s", float, "DMAs that the device starts, in millions per second."),
    _limit(
        "--ack-interval",
        "ack_interval_symbols",
        int,
        "Symbol times between Acks.",
        unless="the specification's limit",
    ),
    _limit(
        "--fc-interval",
        "update_fc_interval_symbols",
        int,
        "Symbol times between UpdateFCs.",
        unless="the specification's guideline",
    ),
)
_BY_KEY = {one.key: one for one in MODEL_OPTIONS}
_ACCOUNTING = typer.Option(
    "--accounting",
    help="How overhead is counted: `spec` is a true upper bound; `sigcomm18` reproduces the 2018 paper.",
    rich_help_panel="Link",
)


def link_option(key: str, unless: str = "", **more: Any) -> Any:
    """The option of one key of the link, left out by default; `unless` names the default."""
    one = _BY_KEY[key]
    return one.option(f"{one.meaning}{unless and f'  [default: {unless}]'}", hides_default=True, **more)


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """The link and the limits that the options describe."""

    link: Link
    limits: Limits = field(default_factory=Limits)
    accounting: Accounting = Accounting.SPEC

    @property
    def title(self) -> str:
        """The link of the rows, marked as modelled."""
        link = self.link
        details = [f"MPS {link.mps_bytes}", f"MRRS {link.mrrs_bytes}", f"{link.address_bits}-bit addresses"]
        details += ["ECRC"] if link.ecrc else []
        details += ["flit mode"] if link.flit_mode else []
        details += [_ide(link.ide_tlps)] if link.ide_tlps else []
        return f"modelled ({self.accounting}): Gen{link.generation} x{link.lanes}, {', '.join(details)}"


def _ide(tlps: int) -> str:
    return f"IDE with a MAC for {'each TLP' if tlps == 1 else f'{tlps} TLPs'}"


def default_of(key: str) -> Any:
    """The default of a key."""
    return _BY_KEY[key].default


def option_of(key: str) -> str:
    """The option of a key: `--gen`."""
    return _BY_KEY[key].name


def link_with(**given: Any) -> Link:
    """A link with some keys, and the defaults of the options for all others."""
    return Link(**{one.key: given.get(one.key, one.default) for one in MODEL_OPTIONS if one.of == "link"})


def _made(given: Mapping[str, Any]) -> ModelOptions:
    values = {
        part: {one.key: given[one.key] for one in MODEL_OPTIONS if one.of == part} for part in ("link", "limits")
    }
    return ModelOptions(
        link=Link(**values["link"]), limits=Limits(**values["limits"]), accounting=given["accounting"]
    )


def takes_model_options(command: Callable[..., None]) -> Command:
    """Add every option of the model to a command, which gets them as its parameter `options`."""
    added = [annotated(one.key, one.kind, one.default, one.option()) for one in MODEL_OPTIONS]
    last_of_link = sum(one.of == "link" for one in MODEL_OPTIONS)
    added.insert(last_of_link, annotated("accounting", Accounting, Accounting.SPEC, _ACCOUNTING))

    @functools.wraps(command)
    def named(**given: Any) -> None:
        with errors_name_options():
            command(**given)

    return takes("options", added, _made)(named)


NicSets = Annotated[
    list[str] | None, set_option("Change one value of the NIC of --nic, as nic.step.1.batch=8", "nic")
]


def nic_with(nic: str | None, sets: list[str] | None) -> "NicProfile | None":
    """The NIC of `--nic` with the changes of `--set`; None without one.

    Raises:
        InputError: The NIC is missing or wrong, or a change is not of a NIC.
    """
    from pcielab.library.nics import load_nic
    from pcielab.library.profiles.read import own_sets

    if nic is None:
        if sets:
            raise refusal(
                "missing", f"--set {named(sets[0].partition('=')[0])}: changes a NIC: give --nic NAME as well"
            )
        return None
    return load_nic(nic, own_sets("nic", sets or (), "the NIC of --nic"))


_OPTION_OF_KEY = {one.key: one.name for one in MODEL_OPTIONS} | {
    "offset_bytes": "--offset",
    "completion_bytes": "--completions",
    "size_bytes": "--sizes",
    "sizes_bytes": "--sizes",
    "frame_bytes": "--sizes",
    "frames_bytes": "--sizes",
    "line_gbps": "--line",
    "latency_ns": "--latency-ns",
    "latencies_ns": "--latency-ns",
    "clock_ghz": "--clock-ghz",
    "payload_bytes": "--messages",
    "payloads_bytes": "--messages",
    "flushes": "--flushes",
    "write_combining_buffers": "--buffers",
    "messages_in_flight": "--in-flight",
}


@contextmanager
def errors_name_options(**own: str) -> Any:
    """Replace the library's keys in error messages by the options that people type.

    Args:
        own: The options of keys for which the command has others.
    """
    try:
        yield
    except InputError as error:
        path = error.key or ""
        key = path.rpartition(".")[2].partition("[")[0]  # of `model.mps_bytes` or `sizes_bytes[2]`
        options = {**_OPTION_OF_KEY, **own}
        if error.subject or key not in options:  # keys of a file stay
            raise
        option = options[key]
        if error.beside:
            needed = options.get(error.beside, error.beside)
            problem = f": needs {needed} beside it: give {needed}{_typical(needed)}, or leave {option} out"
        else:
            problem = str(error).removeprefix(path)
        raise with_message(error, f"{option}{problem}") from error


def _typical(option: str) -> str:
    """Typical values of an option that is missing, as words of its error."""
    if option != "--rtt-ns":
        return ""
    idle_ns, loaded_ns = USUAL_ROUND_TRIPS_NS
    return (
        f" (most servers take {idle_ns} idle to {loaded_ns} under load; `pcielab run --test lat-rd` measures it)"
    )
