"""The app's Kotlin, compiled and tested on a plain JVM: see android_demo/README.md."""

import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tools.build_ports import build_host

PROJECT = Path(__file__).parents[2] / "android_demo"
SUPPORT = Path(__file__).parents[1] / "support"


def missing_tool() -> str | None:
    for tool in ("java", "mvn"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed"
    told = subprocess.run(["mvn", "--version"], capture_output=True, text=True, check=False).stdout
    version = next((line for line in told.splitlines() if line.startswith("Java version:")), "no Java")
    major = version.removeprefix("Java version: ").split(".")[0].split(",")[0]
    return None if major.isdigit() and int(major) >= 17 else f"Maven runs on {version}, not on Java 17 or newer"


@pytest.mark.slow
def test_every_source_compiles_and_the_jvm_tests_pass(tmp_path: Path) -> None:
    if problem := missing_tool():
        pytest.skip(f"The Android tests need Java 17 and Maven: {problem}")
    engine, exports = build_host(tmp_path / "libretvec_lite.so"), tmp_path / "exports"
    if engine is None:
        pytest.skip("There is no C compiler for the engine")
    subprocess.run([sys.executable, SUPPORT / "engine_exports.py", exports], check=True)
    command = ["mvn", "--batch-mode", "--quiet", "test", f"-Dtarget.directory={tmp_path}"]
    command += [f"-Dretvec.engine={engine}", f"-Dretvec.exports={exports}"]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    suites = [ElementTree.parse(file).getroot() for file in tmp_path.glob("surefire-reports/TEST-*.xml")]
    ran = {str(suite.get("name")).rsplit(".", 1)[-1]: int(suite.get("tests", 0)) for suite in suites}
    written = {file.stem for file in PROJECT.glob("app/src/test/**/*Test.kt")}
    assert ran.keys() == written and all(ran.values())
    assert sum(int(suite.get("skipped", 0)) for suite in suites) == 0


def test_text_classifier_is_short_and_the_model_small() -> None:
    assert (
        len((PROJECT / "app/src/main/kotlin/org/retveclite/TextClassifier.kt").read_text("utf-8").splitlines()) <= 230
    )
    assert (PROJECT / "app/src/main/assets/classifier.tflite").stat().st_size <= 400_000


def test_litert_is_the_only_runtime_dependency() -> None:
    lines = [line.strip() for line in (PROJECT / "app/build.gradle.kts").read_text("utf-8").splitlines()]
    brought = [
        line for line in lines if line.startswith(("implementation", "api(", "runtimeOnly", "debugImplementation"))
    ]
    assert brought == ["implementation(libs.litert)"]
    manifest = ElementTree.parse(PROJECT / "app/src/main/AndroidManifest.xml").getroot()
    tools = "{http://schemas.android.com/tools}node"
    assert all(element.get(tools) == "remove" for element in manifest.iter("uses-permission"))
