"""The options of every command that asks the model: the link, the accounting and other limits.

`takes_model_options` adds them to a command, which gets them as one value.
"""

import functools
import inspect
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Annotated, Any, get_type_hints

import typer

from pcielab.errors import InputError, with_message
from pcielab.library.link import Link
from pcielab.library.quantities import parse_bytes
from pcielab.library.usual_link import USUAL_MPS_BYTES, USUAL_MRRS_BYTES
from pcielab.model.link import Accounting, Limits


def _count(option: str, text: str) -> Any:
    return typer.Option(option, min=1, help=text, rich_help_panel="Limits", show_default=False)


def _time(option: str, text: str) -> Any:
    return typer.Option(option, help=text, rich_help_panel="Limits", show_default=False)


def _link(option: str, text: str, **more: Any) -> Any:
    return typer.Option(option, help=text, rich_help_panel="Link", **more)


def _size(option: str, text: str) -> Any:
    return _link(option, text, parser=lambda given: parse_bytes(str(given), option), metavar="BYTES")


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """The link and the limits that the options describe."""

    gen: Annotated[int, _link("--gen", "PCIe generation, 1 to 7.")] = 3
    lanes: Annotated[int, _link("--lanes", "Link width: 1, 2, 4, 8, 12, 16 or 32.")] = 8
    mps: Annotated[int, _size("--mps", "Maximum Payload Size, 128 to 4096.")] = USUAL_MPS_BYTES
    mrrs: Annotated[int, _size("--mrrs", "Maximum Read Request Size, 128 to 4096.")] = USUAL_MRRS_BYTES
    rcb: Annotated[
        int, _size("--rcb", "Read Completion Boundary, 64 or 128; with `sigcomm18` also 256 or 512.")
    ] = 64
    addr: Annotated[int, _link("--addr", "Address width in bits, 32 or 64 (headers of 3 or 4 DW).")] = 64
    ecrc: Annotated[bool, _link("--ecrc", "TLPs carry an end-to-end CRC.")] = False
    flit: Annotated[
        bool | None,
        _link("--flit/--no-flit", "Use flit mode.  [default: only in Gen6 and Gen7]", show_default=False),
    ] = None
    accounting: Annotated[
        Accounting,
        _link(
            "--accounting",
            "How overhead is counted: `spec` is a true upper bound; `sigcomm18` reproduces the 2018 paper.",
        ),
    ] = Accounting.SPEC
    rtt_ns: Annotated[
        float | None,
        _time("--rtt-ns", "Round-trip time of a read, from request to data, in ns; 500 to 1000 on most servers."),
    ] = None
    tags: Annotated[int | None, _count("--tags", "Outstanding read requests; needs --rtt-ns.")] = None
    in_flight: Annotated[int | None, _count("--in-flight", "DMAs in flight; needs --rtt-ns.")] = None
    credit_rtt_ns: Annotated[
        float | None, _time("--credit-rtt-ns", "Time from a TLP to the return of its credit, in ns.")
    ] = None
    posted_headers: Annotated[
        int | None, _count("--posted-headers", "Posted header credits; needs --credit-rtt-ns.")
    ] = None
    posted_data: Annotated[
        int | None, _count("--posted-data", "Posted data credits of 16 B; needs --credit-rtt-ns.")
    ] = None
    non_posted_headers: Annotated[
        int | None, _count("--non-posted-headers", "Non-posted header credits; needs --credit-rtt-ns.")
    ] = None
    completion_headers: Annotated[
        int | None,
        _count("--completion-headers", "Headers in the device's buffer for completions; needs --rtt-ns."),
    ] = None
    completion_buffer: Annotated[
        int | None,
        _count("--completion-buffer", "Bytes of data in the device's buffer for completions; needs --rtt-ns."),
    ] = None
    device_rate: Annotated[
        float | None, _time("--device-rate", "DMAs that the device starts, in millions per second.")
    ] = None
    ack_interval: Annotated[
        int | None, _count("--ack-interval", "Symbol times between Acks.  [default: the specification's limit]")
    ] = None
    fc_interval: Annotated[
        int | None,
        _count("--fc-interval", "Symbol times between UpdateFCs.  [default: the specification's guideline]"),
    ] = None

    @property
    def link(self) -> Link:
        """The link."""
        return Link(
            generation=self.gen,
            lanes=self.lanes,
            mps_bytes=self.mps,
            mrrs_bytes=self.mrrs,
            rcb_bytes=self.rcb,
            address_bits=self.addr,
            ecrc=self.ecrc,
            flit_mode=self.flit,
        )

    @property
    def limits(self) -> Limits:
        """The limits besides the link."""
        return Limits(
            round_trip_ns=self.rtt_ns,
            tags=self.tags,
            dmas_in_flight=self.in_flight,
            posted_header_credits=self.posted_headers,
            posted_data_credits=self.posted_data,
            non_posted_header_credits=self.non_posted_headers,
            credit_return_ns=self.credit_rtt_ns,
            completion_buffer_headers=self.completion_headers,
            completion_buffer_bytes=self.completion_buffer,
            device_mdmas_per_s=self.device_rate,
            ack_interval_symbols=self.ack_interval,
            update_fc_interval_symbols=self.fc_interval,
        )

    @property
    def title(self) -> str:
        """The link of the rows, marked as modelled."""
        details = [f"MPS {self.mps}", f"MRRS {self.mrrs}", f"{self.addr}-bit addresses"]
        details += ["ECRC"] if self.ecrc else []
        details += ["flit mode"] if self.flit else []
        return f"modelled ({self.accounting}): Gen{self.gen} x{self.lanes}, {', '.join(details)}"


_OPTION_OF_KEY = {
    "generation": "--gen",
    "lanes": "--lanes",
    "mps_bytes": "--mps",
    "mrrs_bytes": "--mrrs",
    "rcb_bytes": "--rcb",
    "address_bits": "--addr",
    "flit_mode": "--flit/--no-flit",
    "round_trip_ns": "--rtt-ns",
    "tags": "--tags",
    "dmas_in_flight": "--in-flight",
    "credit_return_ns": "--credit-rtt-ns",
    "posted_header_credits": "--posted-headers",
    "posted_data_credits": "--posted-data",
    "non_posted_header_credits": "--non-posted-headers",
    "completion_buffer_headers": "--completion-headers",
    "completion_buffer_bytes": "--completion-buffer",
    "device_mdmas_per_s": "--device-rate",
    "ack_interval_symbols": "--ack-interval",
    "update_fc_interval_symbols": "--fc-interval",
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
    from pcielab.doctor.loss import ROUND_TRIPS_NS

    idle, loaded = ROUND_TRIPS_NS
    return f" (most servers take {idle:g} idle to {loaded:g} under load; `pcielab run --test lat-rd` measures it)"


def takes_model_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add every option of `ModelOptions` to a command, which gets them as its parameter `options`."""
    hints = get_type_hints(ModelOptions, include_extras=True)
    added = [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
        )
        for field in fields(ModelOptions)
    ]
    signature = inspect.signature(command)
    own = [parameter for name, parameter in signature.parameters.items() if name != "options"]

    @functools.wraps(command)
    def with_options(**given: Any) -> None:
        options = ModelOptions(**{parameter.name: given.pop(parameter.name) for parameter in added})
        with errors_name_options():
            command(options=options, **given)

    parameters = [*own, *added]
    vars(with_options)["__signature__"] = signature.replace(parameters=parameters)
    with_options.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return with_options
