"""The single test of a command line."""

import json
from dataclasses import asdict
from typing import Any

from pcielab import _core
from pcielab._core import read_size
from pcielab.argument_types import refuses_wrong_types
from pcielab.errors import InputError, refusal, with_message
from pcielab.library.alike import suggestion
from pcielab.library.suites.benchmark import BENCHMARKS, Test, published_transactions
from pcielab.library.suites.load import Suite
from pcielab.library.suites.parameter import PARAMETERS, Parameter
from pcielab.library.suites.parameters import Parameters
from pcielab.wording import named, shown

_OPERATION = next(parameter for parameter in PARAMETERS if parameter.key == "operation")
_OF_WORD = {parameter.word: parameter for parameter in PARAMETERS if parameter is not _OPERATION}


@refuses_wrong_types
def single_test(operation: str, **asked: Any) -> Suite:
    """A suite of one test, named `single`.

    The defaults are the paper's: a window of 8 KiB, visited at random, thrashed caches, and the published number
    of transactions.

    Args:
        operation: The operation: `bw-rd`.
        asked: The parameters of `pcielab run --test`, by their words: path, size, window, cache, pattern,
            host_offset, device_offset, stride, outstanding, transactions, details. Sizes may be texts (`"4K"`).

    Raises:
        InputError: The test is unknown or impossible; the message names the option, its value and the remedy.
        TypeError: A word is not that of a parameter.
    """
    unknown = [word for word in asked if word not in _OF_WORD]
    if unknown:
        raise TypeError(f"{unknown[0]} is not a parameter of a test: {suggestion(unknown[0], _OF_WORD)}")
    values = {"operation": _one_of(_OPERATION, operation)}
    values |= {
        parameter.key: parameter.default if asked.get(word) is None else _read(parameter, asked[word])
        for word, parameter in _OF_WORD.items()
    }
    if asked.get("transactions") is None:
        values["transactions"] = published_transactions(values["operation"], values["details"])
    parameters = Parameters(**values)
    published = {pair: name for name, pair in BENCHMARKS.items()}
    name = published.get((parameters.operation, parameters.path), operation)
    try:
        return Suite.of("single", f"One test: {name}", [Test("single", name, parameters)])
    except InputError as refused:
        problem = _problem_of(parameters) or refused
        wrong = next((parameter for parameter in PARAMETERS if parameter.key == problem.key), None)
        if wrong is None:  # a value of a type or size that no parameter has
            raise
        raise with_message(problem, f"{wrong.option} {problem.value}: {problem.remedy or problem}") from None


def _problem_of(parameters: Parameters) -> InputError | None:
    """Why a test by itself is impossible."""
    try:
        _core.check_test(json.dumps(asdict(parameters)))
    except InputError as problem:
        return problem
    return None


def _read(parameter: Parameter, value: Any) -> Any:
    if parameter.kind == "word":
        return _one_of(parameter, value)
    if parameter.kind == "size" and not isinstance(value, int):
        return read_size(str(value), parameter.option)
    return value


def _one_of(parameter: Parameter, word: Any) -> Any:
    if not isinstance(word, str):
        raise refusal(
            "wrong-type", f"{parameter.option} {shown(word)}: give one of {', '.join(parameter.choices)}"
        )
    if word in parameter.choices:
        return word
    published = BENCHMARKS.get(word.upper())
    hint = (
        f"{word} is --test {published[0]} --path {published[1]}"
        if published
        else suggestion(word, parameter.choices)
    )
    raise refusal("not-found", f"{parameter.option} {named(word)}: unknown: {hint}")
