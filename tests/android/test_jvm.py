"""The Android libraries and the demo app, compiled and tested on a plain JVM, and an app that uses the published libraries."""

import re
import shutil
import subprocess
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

import retvec_lite as rl
from retvec_lite.version import __version__
from tools.build_engine import compiler
from tools.build_ports import ABIS, JVMS, build_android, build_jar, build_jvm

ROOT = Path(__file__).parents[2]
LIBRARIES = ROOT / "android"
DEMO = ROOT / "android_demo"
CONSUMER = Path(__file__).parent / "consumer"
PROGRAM = Path(__file__).parent / "jvm"
MODULES = [LIBRARIES / "retvec-lite", LIBRARIES / "retvec-lite-litert", DEMO]
COORDINATES = "io.github.retvec-lite"


def missing_tool() -> str | None:
    for tool in ("java", "mvn"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed"
    told = subprocess.run(["mvn", "--version"], capture_output=True, text=True, check=False).stdout
    version = next((line for line in told.splitlines() if line.startswith("Java version:")), "no Java")
    major = version.removeprefix("Java version: ").split(".")[0].split(",")[0]
    if not major.isdigit() or int(major) < 17:
        return f"Maven runs on {version}, not on Java 17 or newer"
    return None if compiler() else "there is no C compiler for the engine"


def maven(*arguments: str, cwd: Path) -> None:
    done = subprocess.run(
        ["mvn", "--batch-mode", "--quiet", *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]


def check_every_test_ran(reports: Path, sources: Path) -> None:
    suites = [ElementTree.parse(file).getroot() for file in reports.glob("surefire-reports/TEST-*.xml")]
    ran = {str(suite.get("name")).rsplit(".", 1)[-1]: int(suite.get("tests", 0)) for suite in suites}
    written = {file.stem for file in sources.rglob("*Test.kt")}
    assert written and ran.keys() == written and all(ran.values())
    assert sum(int(suite.get("skipped", 0)) for suite in suites) == 0


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the engine for this machine (`jvm`), the published libraries (`maven`), and what Maven built of each module."""
    if problem := missing_tool():
        pytest.skip(f"The Android tests need Java 17 and Maven: {problem}")
    pytest.importorskip("ziglang", reason="ziglang is not installed: the engine cannot be built for Android")
    folder = tmp_path_factory.mktemp("android")
    build_jvm(folder / "jvm")
    build_android(folder / "jni")
    build_jar(folder / "jar")
    options = {
        "target.directory": f"{folder}/${{project.artifactId}}",
        "engine.directory": folder / "jvm",
        "native.directory": folder / "jni",
        "jar.directory": folder / "jar",
        "repository.directory": folder / "maven",
    }
    maven("deploy", *(f"-D{name}={value}" for name, value in options.items()), cwd=LIBRARIES)
    return folder


@pytest.mark.exhaustive
def test_every_source_compiles_and_the_jvm_tests_pass(built: Path) -> None:
    for module in MODULES:
        name = "android-demo" if module == DEMO else module.name
        check_every_test_ran(built / name, module / ("app/src/test" if module == DEMO else "src/test"))


@pytest.mark.exhaustive
def test_an_archive_holds_what_an_app_needs_and_no_more(built: Path) -> None:
    content = {"AndroidManifest.xml", "R.txt", "classes.jar", "proguard.txt"}
    native = {f"jni/{abi}/libretvec_lite.so" for abi in ABIS}
    for name, expected, most in (("retvec-lite", content | native, 250_000), ("retvec-lite-litert", content, 28_000)):
        place = built.joinpath("maven", *COORDINATES.split("."), name, __version__)
        archive = place / f"{name}-{__version__}.aar"
        assert archive.stat().st_size <= most
        with zipfile.ZipFile(archive) as files:
            assert {entry for entry in files.namelist() if not entry.endswith("/")} == expected
            manifest = ElementTree.fromstring(files.read("AndroidManifest.xml"))
            with files.open("classes.jar") as stored, zipfile.ZipFile(stored) as classes:
                names = [entry for entry in classes.namelist() if entry.endswith(".class")]
        assert names and all(entry.startswith("org/retveclite/") for entry in names)
        assert [element.tag for element in manifest] == ["uses-sdk"]
        for suffix in (".pom", "-sources.jar", "-javadoc.jar"):
            assert (place / f"{name}-{__version__}{suffix}").stat().st_size > 1000


@pytest.mark.exhaustive
def test_litert_and_our_library_are_the_only_dependencies(built: Path) -> None:
    pom = "{http://maven.apache.org/POM/4.0.0}"
    brought = {}
    for name, packaging in (("retvec-lite", "aar"), ("retvec-lite-litert", "aar"), ("retvec-lite-jvm", "jar")):
        file = built.joinpath("maven", *COORDINATES.split("."), name, __version__, f"{name}-{__version__}.pom")
        project = ElementTree.parse(file).getroot()
        assert project.findtext(f"{pom}packaging") == packaging and "${" not in file.read_text("utf-8")
        brought[name] = [entry.findtext(f"{pom}artifactId") for entry in project.iter(f"{pom}dependency")]
    assert brought == {
        "retvec-lite": ["kotlin-stdlib"],
        "retvec-lite-litert": ["kotlin-stdlib", "retvec-lite", "litert"],
        "retvec-lite-jvm": ["kotlin-stdlib"],
    }
    assert "implementation(libs.litert)" in (LIBRARIES / "retvec-lite-litert/build.gradle.kts").read_text("utf-8")


@pytest.mark.exhaustive
def test_an_app_that_names_the_published_libraries_gives_the_golden_answers(built: Path, tmp_path: Path) -> None:
    options = {
        "revision": __version__,
        "repository": (built / "maven").as_uri(),
        "engine.directory": built / "jvm",
        "target.directory": tmp_path,
    }
    maven("test", *(f"-D{name}={value}" for name, value in options.items()), cwd=CONSUMER)
    check_every_test_ran(tmp_path, CONSUMER)


def snippets(page: Path, heading: str) -> dict[str, str]:
    """The code in a section of a page, by its language."""
    section = page.read_text("utf-8").split(f"## {heading}\n")[1].split("\n## ")[0]
    return dict(re.findall(r"```(\w+)\n(.*?)```", section, re.DOTALL))


@pytest.fixture(scope="module")
def program(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that has nothing but what the documentation tells, and Check.java; compiled, with `classifier.retvec` beside it."""
    folder = tmp_path_factory.mktemp("program")
    code = snippets(DEMO / "README.md", "On other JVMs")
    dependencies = code["xml"].replace("file:///path/to/retvec-lite/dist/maven", (built / "maven").as_uri())
    shutil.copytree(PROGRAM, folder, dirs_exist_ok=True)
    pom = (folder / "pom.xml").read_text("utf-8")
    (folder / "pom.xml").write_text(pom.replace("<!-- dependencies -->", dependencies), "utf-8")
    (folder / "src/main/java/App.java").write_text(code["java"], "utf-8")
    (folder / "src/main/java/Main.kt").write_text(code["kotlin"], "utf-8")
    maven("dependency:purge-local-repository@forget", cwd=folder)
    maven("process-classes", cwd=folder)
    shutil.copy(ROOT / "golden" / "rejecting.retvec", folder / "classifier.retvec")
    return folder


def run_program(folder: Path, *arguments: str) -> list[str]:
    command = ["java", "-cp", f"{folder / 'target/classes'}:{folder / 'target/libraries/*'}", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.exhaustive
@pytest.mark.parametrize("main", ["App", "MainKt"])
def test_the_snippets_for_the_jar_print_the_label(program: Path, main: str) -> None:
    answer = rl.load(program / "classifier.retvec").predict("my pakcage never arived")[0].label
    assert answer is not None and run_program(program, main) == [answer]


@pytest.mark.exhaustive
def test_java_calls_everything_and_leaves_nothing_behind(program: Path, tmp_path: Path) -> None:
    text = "<b>cafe\u0301</b> wher is my \U0001f4e6 parcle"
    options = [f"-Djava.io.tmpdir={tmp_path}", "-Dfile.encoding=UTF-8", "-Dsun.jnu.encoding=UTF-8"]
    shutil.copy(ROOT / "golden" / "plain.retvec", program / "plain.retvec")
    found = run_program(program, *options, "com.example.Check", "plain.retvec", text)
    classifier = rl.load(program / "plain.retvec")
    best = classifier.predict(text, reject=False)[0]
    label, probability = found[1].split()
    assert (found[0].split(), label) == ([*classifier.labels], best.label)
    assert float(probability) == pytest.approx(best.probability, abs=1e-5)
    expected = classifier.probabilities(text)[0]
    assert [float(value) for value in found[2][1:-1].split(", ")] == pytest.approx(expected, abs=1e-5)
    assert found[3] == f"{best.label} {classifier.predict('other', top=1)[0].label} 1"
    words = [span.text for span in classifier.explain(text).spans]
    assert found[4] == "|".join([*words, f"{len(words)}"])
    assert found[5:] == ["true", "pets pets", "true", "WRONG_CALL"]
    assert not [*tmp_path.iterdir()]


@pytest.mark.exhaustive
def test_a_machine_without_a_library_is_told_so(program: Path) -> None:
    assert run_program(program, "-Dos.arch=sparc", "com.example.Check", "classifier.retvec", "a") == ["NO_ENGINE"]
    assert run_program(program, "com.example.Check", "missing.retvec", "a") == ["CANNOT_LOAD"]


@pytest.mark.exhaustive
def test_the_jar_has_the_engine_for_every_machine_and_nothing_of_android(built: Path) -> None:
    place = built.joinpath("maven", *COORDINATES.split("."), "retvec-lite-jvm", __version__)
    archive = place / f"retvec-lite-jvm-{__version__}.jar"
    assert archive.stat().st_size <= 480_000
    with zipfile.ZipFile(archive) as files:
        names = {entry for entry in files.namelist() if not entry.endswith("/")}
    native = {f"org/retveclite/native/{machine}/{library}" for machine, (_, library, *_) in JVMS.items()}
    assert native <= names and "org/retveclite/RetvecClassifier.class" in names
    assert not [name for name in names if "Assets" in name]


def test_text_classifier_is_short_and_the_model_small() -> None:
    source = LIBRARIES / "retvec-lite-litert/src/main/kotlin/org/retveclite/TextClassifier.kt"
    assert len(source.read_text("utf-8").splitlines()) <= 230
    assert (DEMO / "app/src/main/assets/classifier.tflite").stat().st_size <= 385_000


def test_the_app_needs_no_permission_and_nothing_but_the_library() -> None:
    lines = [line.strip() for line in (DEMO / "app/build.gradle.kts").read_text("utf-8").splitlines()]
    brought = [
        line for line in lines if line.startswith(("implementation", "api(", "runtimeOnly", "debugImplementation"))
    ]
    library = ":retvec-lite-litert"
    assert len(brought) == 1 and brought[0].count(library) == 2
    manifest = ElementTree.parse(DEMO / "app/src/main/AndroidManifest.xml").getroot()
    tools = "{http://schemas.android.com/tools}node"
    assert all(element.get(tools) == "remove" for element in manifest.iter("uses-permission"))
