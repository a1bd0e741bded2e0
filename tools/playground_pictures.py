"""Photograph the playground for the documentation: `python -m tools.playground_pictures`.

Writes `docs/playground.gif`, in which somebody types a text with typos and then disguises it, and `docs/playground-page.png`, the whole
page. Needs Node.js, `npm ci`, Chromium and Pillow, which the extra `evaluate` brings. The answers are those of the file; when the label
of the moving picture changes after typing, nothing is written.
"""

import argparse
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from PIL import Image

from retvec_lite.playground import demo

ROOT: Final = Path(__file__).parents[1]
FILM: Final = ROOT / "web_demo" / "scripts" / "film.mjs"
MODEL: Final = ROOT / "models" / "retvec_lite_models" / "sentiment.retvec"
TEXT: Final = "I lvoe thsi phnoe, teh screne is gorgoeus"
COLOURS: Final = 64
LIMIT: Final = 400_000
"""Bytes of the moving picture at most: README shows it first."""


def main() -> None:
    """Make both pictures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", type=Path, default=MODEL, help="a .retvec")
    parser.add_argument("--text", default=TEXT)
    parser.add_argument("--out", type=Path, default=ROOT / "docs", help="folder of the pictures")
    arguments = parser.parse_args()
    chromium = shutil.which(os.environ.get("RETVEC_CHROMIUM", "chromium"))
    if chromium is None:
        parser.error("No Chromium: install it, or name it in RETVEC_CHROMIUM.")
    with tempfile.TemporaryDirectory() as scratch:
        frames = Path(scratch)
        demo(arguments.model, export=frames / "page.html")
        subprocess.run(["node", FILM, frames / "page.html", chromium, frames, arguments.text], check=True)
        film = joined(frames)
        arguments.out.mkdir(parents=True, exist_ok=True)
        (arguments.out / "playground.gif").write_bytes(film)
        squeezed(frames / "page.png").save(arguments.out / "playground-page.png", optimize=True)


def joined(folder: Path) -> bytes:
    """Return the frames of `folder` as a GIF that repeats, all in the colours of the last one."""
    said = json.loads((folder / "frames.json").read_text(encoding="utf-8"))
    answers = {frame["label"] for frame in said if len(frame["text"]) >= len(said[-1]["text"]) // 2}
    if len(answers) != 1:
        raise SystemExit(f"The label does not stay: {', '.join(sorted(answers))}. Nothing was written.")
    pictures = [Image.open(path).convert("RGB") for path in sorted(folder.glob("[0-9]*.png"))]
    palette = pictures[-1].quantize(COLOURS)
    first, *others = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]
    target = folder / "film.gif"
    durations = [frame["milliseconds"] for frame in said]
    first.save(target, save_all=True, append_images=others, duration=durations, loop=0, optimize=True)
    if target.stat().st_size > LIMIT:
        raise SystemExit(
            f"The moving picture has {target.stat().st_size:,} bytes, more than {LIMIT:,}: take a shorter text."
        )
    return target.read_bytes()


def squeezed(path: Path) -> Image.Image:
    """Return a picture in 128 colours, which are enough for a page of text."""
    return Image.open(path).convert("RGB").quantize(128, dither=Image.Dither.NONE)


if __name__ == "__main__":
    main()
