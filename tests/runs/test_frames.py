"""Curves and diagnostics as data frames."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from hcdyna import SettingsError


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_reach_the_library(library, made_up, monkeypatch):
    monkeypatch.setitem(sys.modules, library, SimpleNamespace(DataFrame=lambda x: (library, x)))
    name, curves = made_up.frame(library=library)
    assert name == library
    np.testing.assert_array_equal(curves["return"], made_up.returns.ravel())
    _, diagnostics = made_up.frame("diagnostics", library=library)
    assert list(diagnostics) == ["setting", "seed", "step", "loss"]


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("what", ["curves", "diagnostics"])
def test_real_frames(library, what, made_up):
    pytest.importorskip(library)
    frame = made_up.frame(what, library=library)
    columns = getattr(made_up, what)()
    assert list(frame.columns) == list(columns)
    for name, values in columns.items():
        np.testing.assert_array_equal(frame[name].to_numpy(), values)


def test_a_library_that_is_missing_is_named(made_up, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(SettingsError, match=r"pip install 'hcdyna\[polars\]'"):
        made_up.frame(library="polars")


def test_nonsense_is_refused(made_up):
    with pytest.raises(SettingsError, match="library = 'excel': must be one of pandas, polars"):
        made_up.frame(library="excel")
    with pytest.raises(SettingsError, match="what = 'agents': must be one of curves, diagnostics"):
        made_up.frame("agents", library="pandas")


def test_a_run_without_evaluations_has_no_rows(empty, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=dict))
    lengths = {name: len(column) for name, column in empty.frame().items()}
    assert lengths == dict.fromkeys(
        ["setting", "seed", "step", "episode", "return", "length", "diverged"], 0
    )
