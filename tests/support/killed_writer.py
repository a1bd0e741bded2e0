"""Kill a process that writes, before each call of C code in turn: `killed_writer.py FOLDER MODE STEP`; prints how often.

System calls are made by C code, so this is a kill at every moment that can be told from outside. After each kill the target must
hold the old content or the new one, whole; the next run must succeed and leave nothing else behind.
"""

import itertools
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from retvec_lite.files import WORK, atomic_directory, atomic_write, work_folder

OLD = {"a.tflite": "old", "old.tflite": "old", "p.mlpackage/weights/w": "old"}
NEW = {"a.tflite": "new", "new.tflite": "new", "p.mlpackage/weights/w": "new"}


def fill(folder: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)


def found(place: Path) -> dict[str, str]:
    if place.is_file():
        return {"file": place.read_text()}
    files = (path for path in sorted(place.rglob("*")) if path.is_file() and WORK not in path.parts)
    return {str(path.relative_to(place)): path.read_text() for path in files}


def write_folder(target: Path, files: dict[str, str]) -> None:
    with atomic_directory(target, force=True, owned=("*",)) as folder:
        fill(folder, files)


def write_file(target: Path, files: dict[str, str]) -> None:
    atomic_write(target, "".join(files.values()).encode())


def killed(work: Callable[[], None], call: int) -> bool:
    """Do the work in a child that is killed before its `call`th call of C code; return whether it came to that."""
    child = os.fork()
    if child:
        status = os.waitpid(child, 0)[1]
        assert status in (0, signal.SIGKILL), status
        return status != 0
    calls = itertools.count()

    def count(frame: FrameType, event: str, argument: Any) -> None:
        if event == "c_call" and next(calls) == call:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    os._exit(0)


def main() -> None:
    folder, mode, step = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    write = write_file if mode == "file" else write_folder
    states = set()
    for call in itertools.count(0, step):
        target = folder / f"{call}" / "target"
        target.parent.mkdir()
        write(target, OLD)
        old = found(target)
        is_killed = killed(lambda target=target: write(target, NEW), call)
        if mode == "file":
            # Here the target is whole even before the next run.
            assert found(target) in (old, found_new(write, folder / f"{call}")), (call, found(target))
        else:
            with work_folder(target):
                pass
        state = found(target)
        assert state in (old, found_new(write, folder / f"{call}")), (call, state)
        states.add(state == old)
        write(target, NEW)
        assert os.listdir(target.parent) == ["target"], (call, os.listdir(target.parent))
        assert target.is_file() or sorted(os.listdir(target)) == ["a.tflite", "new.tflite", "p.mlpackage"], call
        if not is_killed:
            break
    assert states == {True, False}, "killed early, and killed late"
    print(call)


def found_new(write: Callable[[Path, dict[str, str]], None], folder: Path) -> dict[str, str]:
    return {"file": "".join(NEW.values())} if write is write_file else NEW


if __name__ == "__main__":
    main()
