"""What pyproject.toml cannot say: compile the C engine into the wheel, which is then for this machine alone.

Without a C compiler the package is installed all the same, for any machine; whoever opens a .retvec with it is told what to do.
"""

import platform
import subprocess
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
sys.path.insert(0, str(ROOT))  # build back ends import nothing from the folder they build

from retvec_lite.runtime import FOLDER, LIBRARY, NOT_BUILT  # noqa: E402  # needs no NumPy
from tools.build_engine import build, compiler  # noqa: E402


class BuildWithEngine(build_py):
    """Copies the package, then compiles the engine into the copy; of an editable installation, into the source tree."""

    def run(self) -> None:
        super().run()
        package = ROOT if self.editable_mode else Path(self.build_lib)
        library = package.joinpath(*FOLDER.parts[-2:], LIBRARY)
        library.unlink(missing_ok=True)  # of an earlier build
        try:
            if command := compiler():
                self.distribution.engine = build(command, library)
        except (OSError, subprocess.CalledProcessError) as error:
            self.warn(str(error))
        if self.distribution.engine is None:
            self.warn(NOT_BUILT)


class WheelForItsMachine(bdist_wheel):
    """Names a wheel with an engine after this machine. No version of Python matters: ctypes loads the engine."""

    def run(self) -> None:
        self.run_command("build_py")
        self.root_is_pure = self.distribution.engine is None
        super().run()

    def get_tag(self) -> tuple[str, str, str]:
        if self.root_is_pure:
            return super().get_tag()
        # On a Mac, Python may be for two kinds of processors, but the compiler's file is for one.
        return "py3", "none", super().get_tag()[2].replace("universal2", platform.machine())


class WithEngine(Distribution):
    """A distribution that says where its files belong once the engine was compiled, or not."""

    engine: Path | None = None

    def has_ext_modules(self) -> bool:
        return self.engine is not None


setup(distclass=WithEngine, cmdclass={"build_py": BuildWithEngine, "bdist_wheel": WheelForItsMachine})
