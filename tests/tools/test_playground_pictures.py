"""The moving picture of README: its frames become one file, and only if the label stays."""

import json
from pathlib import Path

import pytest

pytest.importorskip("PIL", reason="Pillow is not installed: pictures cannot be joined")

from PIL import Image

from tools.playground_pictures import LIMIT, ROOT, joined


def film(folder: Path, *labels: str) -> Path:
    """A frame for each label; the text of the first is still being typed."""
    said = [
        {"milliseconds": 100 * (at + 1), "label": label, "text": "love it" if at else "l"}
        for at, label in enumerate(labels)
    ]
    (folder / "frames.json").write_text(json.dumps(said))
    for at in range(len(labels)):
        picture = Image.new("RGB", (40, 30), "black")
        picture.paste("white", (0, 0, 10 * (at + 1), 30))
        picture.save(folder / f"{at:04}.png")
    return folder


def test_every_frame_is_shown_as_long_as_it_says(tmp_path: Path) -> None:
    (tmp_path / "joined.gif").write_bytes(joined(film(tmp_path, "none", "good", "good")))
    with Image.open(tmp_path / "joined.gif") as picture:
        assert picture.info["loop"] == 0 and picture.n_frames == 3
        times = []
        for at in range(picture.n_frames):
            picture.seek(at)
            times.append(picture.info["duration"])
    assert times == [100, 200, 300]


def test_a_label_that_changes_makes_no_picture(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"The label does not stay: bad, good"):
        joined(film(tmp_path, "none", "good", "bad"))


def test_readme_shows_a_moving_picture() -> None:
    place = ROOT / "docs" / "playground.gif"
    assert "(docs/playground.gif)" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert place.stat().st_size <= LIMIT
    with Image.open(place) as picture:
        assert picture.n_frames > 20
