"""Profiles of hardware against published figures: no measurement is above a bound, or unexplained far below."""

import pytest

from generate.hardware_reference import Figure, figures, predicted
from pcielab import model

CHECKED = [figure for figure in figures() if figure.role == "check"]
INPUTS = [figure for figure in figures() if figure.role == "input"]


def _name(figure: Figure) -> str:
    return f"{figure.profile}: {figure.device}, {figure.quantity}"


@pytest.mark.parametrize("figure", CHECKED, ids=_name)
def test_a_measurement_meets_its_bound_or_gives_the_reason(figure: Figure) -> None:
    bound = predicted(figure).bound
    assert figure.value <= 1.005 * bound, "a measurement above the bound refutes the profile"
    assert figure.value >= 0.9 * bound or figure.reason


@pytest.mark.parametrize("figure", INPUTS, ids=_name)
def test_an_input_is_the_value_of_the_profile(figure: Figure) -> None:
    assert figure.key is not None
    assert getattr(model.load_engine(figure.profile).pace, figure.key) == figure.value


def test_every_engine_is_compared_with_a_measurement() -> None:
    assert {figure.profile for figure in CHECKED} >= set(model.shipped_engines())


def test_uncompressed_completions_do_not_explain_the_rate_of_a_connectx5() -> None:
    """125 million packets a second were received; without the switches the link allows 90."""
    [figure] = [one for one in CHECKED if one.profile == "connectx-5+mprq+cqe-compression"]
    plain = predicted(figure.model_copy(update={"profile": "connectx-5"})).bound
    assert plain < 0.75 * figure.value < predicted(figure).bound
