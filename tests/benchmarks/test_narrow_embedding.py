"""The narrow embedding of the Pareto plots is a part of the wide one, number by number."""

from pathlib import Path

import numpy as np
import pytest
from narrow_embedding import main

from retvec_lite.contract import bits
from retvec_lite.model.reference_network import embed
from retvec_lite.model.weight_files import load_default_embedding, load_embedding


def test_it_is_the_first_numbers_of_the_wide_one(tmp_path: Path) -> None:
    main([str(tmp_path / "dim128.safetensors")])
    narrow, wide = load_embedding(tmp_path / "dim128.safetensors"), load_default_embedding()
    words = np.array([[ord(letter) for letter in word.ljust(16, "\0")] for word in ("hello", "wörld", "你好")])
    assert narrow.dimension == 128
    assert "first 128 of 256" in narrow.card["narrowed"]
    # As close as sums of another order are: a matrix product of other width may add up otherwise.
    np.testing.assert_allclose(
        embed(bits(words), narrow.weights), embed(bits(words), wide.weights)[:, :128], rtol=0, atol=1e-6
    )


@pytest.mark.parametrize("dimension", ["0", "256", "300"])
def test_only_narrower_ones_can_be_made(tmp_path: Path, dimension: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([str(tmp_path / "out.safetensors"), "--dimension", dimension])
    assert f"Cannot cut {dimension} of 256 outputs: choose 1 to 255." in capsys.readouterr().err
    assert not (tmp_path / "out.safetensors").exists()
