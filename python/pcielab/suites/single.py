"""One test, as a command line describes it."""

from collections.abc import Iterable
from typing import TypeVar, get_args

from pcielab.errors import InputError
from pcielab.profiles.part import MOST_COUNT
from pcielab.quantities import parse_bytes
from pcielab.suites.benchmark import (
    BENCHMARKS,
    PAGE_BYTES,
    Cache,
    Operation,
    Parameters,
    Path,
    Pattern,
    Test,
    impossible,
    published_name,
    published_transactions,
)
from pcielab.suites.load import Suite
from pcielab.validation import suggestion
from pcielab.wording import named

_OPTIONS = {
    "size_bytes": "--size",
    "window_bytes": "--window",
    "host_offset_bytes": "--host-offset",
    "device_offset_bytes": "--device-offset",
    "stride_units": "--stride",
    "outstanding": "--outstanding",
    "transactions": "--transactions",
    "details": "--details",
}

_Word = TypeVar("_Word", bound=str)


def single_test(
    operation: str,
    *,
    path: str = "dma",
    size: int | str = 64,
    window: int | str = "8K",
    cache: str = "cold",
    pattern: str = "random",
    host_offset: int = 0,
    device_offset: int = 0,
    stride: int = 1,
    outstanding: int | None = None,
    transactions: int | None = None,
    details: bool = False,
) -> Suite:
    """A suite of one test, named `single`; sizes may be texts such as `"4K"`.

    Without anything else said, a test is what the paper does by default: a window of 8 KiB, visited at random,
    the caches thrashed before it, and the published number of transactions.

    Raises:
        InputError: The test is unknown or impossible; the message names the option, its value and the remedy.
    """
    checked_operation = _one_of(operation, get_args(Operation), "--test")
    checked_path = _one_of(path, get_args(Path), "--path")
    name = published_name(checked_operation, checked_path)
    parameters = Parameters(
        operation=checked_operation,
        path=checked_path,
        pattern=_one_of(pattern, get_args(Pattern), "--pattern"),
        cache=_one_of(cache, get_args(Cache), "--cache"),
        size_bytes=_bytes(size, "--size"),
        window_bytes=_bytes(window, "--window"),
        host_offset_bytes=_within(0, PAGE_BYTES - 1, host_offset, "--host-offset"),
        device_offset_bytes=_within(0, PAGE_BYTES - 1, device_offset, "--device-offset"),
        stride_units=_count(stride, "--stride"),
        outstanding=None if outstanding is None else _count(outstanding, "--outstanding"),
        transactions=(
            published_transactions(checked_operation, details)
            if transactions is None
            else _count(transactions, "--transactions")
        ),
        details=details,
    )
    problem = impossible(parameters)
    if problem is not None:
        key, value, remedy = problem
        raise InputError(f"{_OPTIONS[key]} {value}: {remedy}")
    return Suite("single", f"One test: {name}", (Test("single", name, parameters),))


def _one_of(word: str, known: Iterable[_Word], option: str) -> _Word:
    choices = list(known)
    for choice in choices:
        if choice == word:
            return choice
    published = BENCHMARKS.get(word.upper())
    hint = f"{word} is --test {published[0]} --path {published[1]}" if published else suggestion(word, choices)
    raise InputError(f"{option} {named(word)}: unknown: {hint}")


def _bytes(value: int | str, option: str) -> int:
    return parse_bytes(str(value), option)


def _count(value: int, option: str) -> int:
    return _within(1, MOST_COUNT, value, option)


def _within(least: int, most: int, value: int, option: str) -> int:
    if not least <= value <= most:
        raise InputError(f"{option} {value}: give {least} to {most}")
    return value
