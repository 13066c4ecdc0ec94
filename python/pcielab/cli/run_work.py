"""The work of `pcielab run`: a suite, a single test, or frames through a NIC.

An option selects each kind of work; further options refine it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pcielab.cli.output import Format
from pcielab.errors import InputError
from pcielab.library.suites.parameters import PARAMETERS

if TYPE_CHECKING:
    from pcielab.devices import Carrier
    from pcielab.store import Store
    from pcielab.work.options import RunOptions, Work


@dataclass(frozen=True)
class Way:
    """A kind of work.

    Attributes:
        option: The option that selects it.
        more: Options that refine it.
        effect: Effect of those options, as error messages say it.
        load: Makes the work from the options' values.
        show: Prints the results, if the work prints any.
    """

    option: str
    more: tuple[str, ...]
    effect: str
    load: Callable[[Mapping[str, Any]], "Work"]
    show: Callable[["Store", "Carrier", Format], None] | None = None


def _suite(given: Mapping[str, Any]) -> "Work":
    from pcielab.library.catalog import load_work

    suite = load_work(given["suite"])
    return suite.only(given["family"]) if given["family"] else suite


def _single(given: Mapping[str, Any]) -> "Work":
    from pcielab.library.suites import single_test

    return single_test(given["test"], **{word: given[word] for word in _WORDS if given[word] is not None})


def _show_single(store: "Store", carrier: "Carrier", output_format: Format) -> None:
    from pcielab.cli.outcome import print_single

    print_single(store, carrier.heading, output_format)


def _frames(given: Mapping[str, Any]) -> "Work":
    from pcielab.cli.run_nic import frames

    return frames(given["nic"], given["frames"], given["line"], given["direction"], given["nics"])


def _show_frames(store: "Store", _carrier: "Carrier", output_format: Format) -> None:
    from pcielab.cli.run_nic import print_frames

    print_frames(store, output_format)


_WORDS = tuple(parameter.word for parameter in PARAMETERS if parameter.key != "operation")
_SUITE = Way("suite", ("family",), "chooses tests of a suite", _suite)
_WAYS = (
    _SUITE,
    Way("test", _WORDS, "describes a single test", _single, _show_single),
    Way("nic", ("frames", "line", "direction", "nics"), "describes the frames of a NIC", _frames, _show_frames),
)
_DEFAULT = "quick"


def asked(given: Mapping[str, Any]) -> tuple[Way, "Work"]:
    """The work that the options describe, and its kind; options that were not given are None."""
    chosen = [way for way in _WAYS if given[way.option] is not None]
    for way in _WAYS:
        _refuse_more(way, chosen or [_SUITE], given)
    if len(chosen) > 1:
        options = " and ".join(f"--{way.option}" for way in chosen)
        raise InputError(f"{options}: give one of them: each chooses its own tests")
    [way] = chosen or [_SUITE]
    return way, way.load({**given, "suite": given["suite"] or _DEFAULT})


def refuse_unkept(way: Way, options: "RunOptions") -> None:
    """Refuse work without `--output` that prints no results, or that continues a store."""
    if way is _SUITE:
        raise InputError(
            "--output: a suite prints no results: give -o RUN.db; --test prints the result of one test"
        )
    if options.resume:
        raise InputError("--resume: continues a store: give -o RUN.db")


def _refuse_more(way: Way, chosen: list[Way], given: Mapping[str, Any]) -> None:
    """Refuse options that refine a kind of work that was not selected."""
    more = [f"--{word.replace('_', '-')}" for word in way.more if given[word]]
    if not more or way in chosen:
        return
    other = chosen[0]
    asked_for = given[other.option]
    remedy = f"leave it out with --{other.option} {asked_for}" if asked_for else f"give --{way.option} as well"
    raise InputError(f"{', '.join(more)}: {way.effect}: {remedy}")
