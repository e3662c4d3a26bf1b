"""The conformance suite on random weights of every family of recognizers that is installed."""

from __future__ import annotations

import pytest
from tiny_models import FAMILIES

from voxaudit.recognize import make_recognizer
from voxaudit.recognize.check import check_clips, check_recognizer

pytestmark = pytest.mark.filterwarnings("ignore")  # the libraries' own


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_passes_the_check(family, tmp_path):
    spec, save, modules = FAMILIES[family]
    for module in modules.split():
        pytest.importorskip(module, reason=f"needs {module}", exc_type=Exception)
    if spec.startswith("transformers"):
        pytest.importorskip("transformers")
        import torch

        torch.manual_seed(4)
    save(tmp_path)
    clips = [clip for name, clip in check_clips().items() if ".flac" not in name][:4]
    result = check_recognizer(make_recognizer(spec.format(tmp_path)), clips, long_seconds=5)
    assert [(check.name, check.problems) for check in result.checks if not check.passed] == []
