from collections.abc import Iterator
from pathlib import Path

import pytest

from retvec_lite.runtime import native
from tools.build_engine import build, compiler


@pytest.fixture(scope="module", autouse=True)
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The engine of the present source in the place of the package's."""
    cc = compiler()
    if cc is None:
        pytest.skip("no C compiler")
    built = build(cc, tmp_path_factory.mktemp("engine") / native.LIBRARY, "-O1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "FOLDER", built.parent)
        yield built
