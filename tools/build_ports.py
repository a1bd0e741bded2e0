"""Compile the C engine for browsers, Android and JVMs: `python -m tools.build_ports wasm|android|jar|jvm [--out PLACE]`.

`jar` is for the JVMs of six machines, `jvm` for that of this one. All but `jvm` need `pip install ziglang`.
"""

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Final

from tools.build_engine import EXPORTED, FLAGS, SOURCE, compiler, zig

ROOT: Final = Path(__file__).parents[1]

WASM: Final = ROOT / "retvec_lite" / "web" / "engine.wasm"
"""The engine of the playground, and of web pages."""

JNI: Final = ROOT / "engine" / "android" / "jni.c"

PLACES: Final = {
    "wasm": WASM,
    "android": ROOT / "android/retvec-lite/src/main/jniLibs",
    "jar": ROOT / "build/jar",
    "jvm": ROOT / "build/jvm",
}
"""Port -> where it goes unless --out says otherwise: the file, or the folder of the libraries."""

ZIG: Final = "0.17.1"
"""The release of `ziglang` that made WASM: another one may write other bytes."""

ABIS: Final = {
    "arm64-v8a": ("aarch64-linux-android",),
    "armeabi-v7a": ("thumb-linux-androideabi", "-mcpu=generic+v7a+neon", "-mfloat-abi=softfp"),
    "x86_64": ("x86_64-linux-android", "-Os", "-DRVL_PLAIN_ONLY"),
    "x86": ("x86-linux-android", "-Os"),
}
"""Folder in an app -> the target of the compiler, and its options. Emulators and few devices have Intel's processors: small is enough."""

JVMS: Final = {
    "linux-x86_64": ("x86_64-linux-gnu.2.17", "libretvec_lite.so"),
    "linux-aarch64": ("aarch64-linux-gnu.2.17", "libretvec_lite.so"),
    "macos-x86_64": ("x86_64-macos.10.13", "libretvec_lite.dylib"),
    "macos-aarch64": ("aarch64-macos.11.0", "libretvec_lite.dylib"),
    "windows-x86_64": ("x86_64-windows-gnu", "retvec_lite.dll", "-Wl,--no-entry"),
    "windows-aarch64": ("aarch64-windows-gnu", "retvec_lite.dll", "-Wl,--no-entry"),
}
"""Folder in the .jar, as NativeEngine.kt names it -> the target of the compiler, the library's name, and the compiler's options."""

_ALONE: Final = ("-nostdlib", "-ffreestanding", "-DRVL_FREESTANDING")
"""Without a C library."""

_SMALL: Final = ("-s", "-fno-unwind-tables", "-fno-asynchronous-unwind-tables")
"""Nobody debugs them; C throws no exceptions."""

_ANDROID_FLAGS: Final = (
    *(*_SMALL, "-ffunction-sections", "-Wl,--gc-sections", "-Wl,--hash-style=gnu"),
    *("-lcompiler_rt", "-Wl,-z,defs", "-Wl,-z,max-page-size=16384"),
)
"""Nothing is left to find on the device; 32-bit ARM divides in a function. Pages may have 16 kB from Android 15 on."""

_WASM_FLAGS: Final = ("-Wl,--no-entry", "-Wl,--export-dynamic", "-Wl,--export=__heap_base", "-Wl,--strip-all")


def build_wasm(to: Path = WASM, *, simd: bool = True) -> Path:
    """Compile the engine to WebAssembly, with SIMD or for machines without; raises CalledProcessError when it fails."""
    flags = [flag for flag in FLAGS if flag not in ("-shared", "-fPIC")]
    options = (*_ALONE, *_WASM_FLAGS, *(("-msimd128",) if simd else ()), EXPORTED)
    return _compile("wasm32-freestanding", [*flags, *options, str(SOURCE)], to)


def build_android(folder: Path) -> list[Path]:
    """Compile the engine and its JNI functions for every ABI, as `folder/ABI/libretvec_lite.so`."""
    options = [*FLAGS, *_ALONE, *_ANDROID_FLAGS, str(JNI)]
    return [
        _compile(target, [*options, *more], folder / abi / "libretvec_lite.so") for abi, (target, *more) in ABIS.items()
    ]


def build_jar(folder: Path) -> list[Path]:
    """Compile what `build_android` compiles for the JVMs of other machines, as `folder/MACHINE/LIBRARY`."""
    built = [
        _compile(target, [*FLAGS, *_ALONE, *_SMALL, *more, str(JNI)], folder / machine / library)
        for machine, (target, library, *more) in JVMS.items()
    ]
    for file in built:
        for beside in file.parent.iterdir():
            if beside != file:  # what a linker of Windows wants
                beside.unlink()
    return built


def build_jvm(folder: Path) -> Path:
    """Compile what `build_android` compiles for this machine, to test it on a JVM that has `folder` in `java.library.path`."""
    command = compiler() or sys.exit("There is no C compiler: pip install ziglang")
    name = {"win32": "retvec_lite.dll", "darwin": "libretvec_lite.dylib"}.get(sys.platform, "libretvec_lite.so")
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([*command, *FLAGS, str(JNI), "-o", str(folder / name)], check=True)
    return folder / name


def _compile(target: str, arguments: list[str], to: Path) -> Path:
    compiler = zig(target)
    if compiler is None:
        sys.exit("The compiler is missing: pip install ziglang")
    to.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([*compiler, *arguments, "-o", str(to)], check=True)
    return to


def main() -> None:
    """Build one of the ports."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", choices=tuple(PLACES))
    parser.add_argument("--out", type=Path, help="the .wasm file, or a folder for libraries")
    chosen = parser.parse_args()
    out = chosen.out or PLACES[chosen.port]
    several = {"android": build_android, "jar": build_jar}.get(chosen.port)
    one = build_wasm if chosen.port == "wasm" else build_jvm
    built = several(out) if several else [one(out)]
    for file in built:
        print(f"{file}: {file.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
