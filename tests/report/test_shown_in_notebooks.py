"""Objects show themselves in a notebook as SVG, without scripts or a network."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import altair as alt
import pandas as pd
import pytest

import pcielab
from pcielab import fabric, model
from pcielab.doctor import examine, read_lspci_file
from pcielab.model import Ethernet, Link
from pcielab.report import figures

from .conftest import MakeStore, bandwidth_scalars, latency_scalars, parameters

LINK = Link(generation=4, lanes=8, mps_bytes=256, mrrs_bytes=512)
LSPCI = Path(__file__).parents[1] / "lspci_texts" / "epyc-7543-milan.txt"
NAMESPACE = "http://www.w3.org/"


def texts_of(bundle: dict[str, str]) -> str:
    """An object's picture, which has no address but those that name XML's own."""
    assert "<script" not in "".join(bundle.values())
    picture = bundle["image/svg+xml"]
    assert "http" not in picture.replace(NAMESPACE, "")
    return picture


def answers(kind: str) -> Any:
    line = Ethernet(line_gbps=100)
    nic = model.load_nic("niantic-dpdk")
    return {
        "bandwidth": lambda: model.bandwidth(LINK, [64, 256, 1024]),
        "one size": lambda: model.bandwidth(LINK, [64]),
        "nic": lambda: model.nic(nic, LINK, [64, 1500], ethernet=line),
        "sizing": lambda: model.sizing([64, 1500], [600], ethernet=line, device=nic),
        "link sizing": lambda: model.link_sizing(LINK, [64, 256], [600, 900]),
        "messages": lambda: model.messages(model.load_message_profile("kpio-2012"), [64, 1500]),
    }[kind]()


@pytest.mark.parametrize("kind", ["bandwidth", "one size", "nic", "sizing", "link sizing", "messages"])
def test_answers_of_the_model_have_a_picture(kind: str) -> None:
    found = answers(kind)
    assert isinstance(found, list)
    assert "MODELLED" in texts_of(found._repr_mimebundle_())  # type: ignore[attr-defined]


def test_a_store_has_a_picture_and_its_table(make_store: MakeStore) -> None:
    bundle = make_store("a")._repr_mimebundle_()
    assert "Figure 4" in texts_of(bundle)
    assert "data:image/svg+xml;base64," in bundle["text/html"]
    assert "<table" in bundle["text/html"]
    assert bundle["text/plain"].startswith("<Store ")


@pytest.mark.parametrize(
    ("test", "said"),
    [
        ({"parameters": parameters("bw-rd", 64), "scalars": bandwidth_scalars(64)}, "DMA read bandwidth, 64 B"),
        ({"parameters": parameters("lat-rd", 64), "scalars": latency_scalars(500)}, "DMA read latency, 64 B"),
    ],
)
def test_a_store_of_one_test_shows_it_as_a_bar(make_store: MakeStore, test: dict[str, Any], said: str) -> None:
    assert said in texts_of(make_store("a", [{"family": "mine", **test}])._repr_mimebundle_())


def test_a_store_without_speeds_has_its_table_alone(make_store: MakeStore) -> None:
    bundle = make_store("a", origin="emulated")._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}
    assert "<img" not in bundle["text/html"]


def test_a_sweep_has_a_picture() -> None:
    found = pcielab.bounds("snb", test="bw-rd", size=[64, 256, 1024])
    assert "MODELLED" in texts_of(found._repr_mimebundle_())


def test_an_estimate_and_a_simulation_of_a_fabric_have_pictures() -> None:
    testbed = fabric.load("fabrex-u55c")
    estimated = fabric.estimate(testbed, testbed.flows("table2"))
    assert "max-min" in texts_of(estimated._repr_mimebundle_())
    simulated = fabric.simulate(testbed, testbed.flows("latency"), warm_up_us=1, duration_us=5)
    assert "SIMULATED" in texts_of(simulated._repr_mimebundle_())


def test_an_examination_has_a_picture_of_its_findings() -> None:
    found = examine(read_lspci_file(LSPCI))
    assert found.findings
    assert "Findings" in texts_of(found._repr_mimebundle_())
    assert json.loads(found.model_dump_json())["format"] == "pcielab-doctor-1"


def test_only_the_types_that_are_asked_for_are_given(make_store: MakeStore) -> None:
    store = make_store("a")
    assert set(store._repr_mimebundle_(include={"image/svg+xml"})) == {"image/svg+xml"}
    assert set(store._repr_mimebundle_(exclude={"text/html"})) == {"image/svg+xml", "text/plain"}


def test_a_figure_is_svg_and_another_chart_keeps_its_renderer(make_store: MakeStore) -> None:
    assert "Figure 4" in texts_of(figures.bandwidth_by_size(make_store("a"))._repr_mimebundle_())
    chart = alt.Chart(pd.DataFrame({"a": [1]})).mark_point().encode(x="a:Q")
    assert set(chart._repr_mimebundle_()) == {"text/html"}


def test_a_renderer_that_the_reader_chose_is_kept() -> None:
    program = (
        "import altair; altair.renderers.enable('html'); import pcielab.report; print(altair.renderers.active)"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout == "html\n"


def test_without_the_packages_of_pictures_text_remains(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "altair" else find(name))
    assert set(model.bandwidth(LINK, [64])._repr_mimebundle_()) == {"text/plain"}  # type: ignore[attr-defined]


def test_an_explanation_has_a_picture_of_its_bounds_and_a_table() -> None:
    run = pcielab.simulate("hsw2620", pcielab.single_test("bw-rd", size=64, transactions=1000))
    bundle = pcielab.explain(run)._repr_mimebundle_()
    picture = texts_of(bundle)
    assert "Bandwidths and their bounds" in picture
    assert "simulated" in picture
    assert "MODELLED" in picture
    assert "DMA read bandwidth" in picture
    assert "BW_DMA_RD" in bundle["text/html"]


def test_a_comparison_has_a_picture_of_its_largest_difference_and_a_summary(make_store: MakeStore) -> None:
    found = pcielab.compare(make_store("a"), make_store("b"))
    bundle = found._repr_mimebundle_()
    assert "B less A" in texts_of(bundle)
    assert "signed_median" in bundle["text/html"]
    assert bundle["text/plain"].startswith(f"<Comparison of {len(found.rows)} pairs, A: ")


def test_a_comparison_without_speeds_has_no_picture(make_store: MakeStore) -> None:
    bundle = pcielab.compare(make_store("a", origin="emulated"), make_store("b"))._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}
