"""The language detector in the package: found by its name, right about everyday words, the same on every runtime."""

import subprocess
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pytest

import retvec_lite as rl
from retvec_lite.contract import codepoint_rows
from retvec_lite.converters.parity.golden_texts import golden_texts
from retvec_lite.ngrams import NgramConfig, ngram_logits
from retvec_lite.runtime.artifact import PREBUILT, is_prebuilt, locate, read_artifact
from retvec_lite.runtime.interpreters import RUNTIMES, installed_runtimes
from retvec_lite.runtime.worker import Job, run_models

LANGUAGE = locate("language")

GREETINGS = {
    "en": "hi; hello; thanks; good morning; good night; please; yes; sorry; how are you?; see you tomorrow; happy birthday",
    "de": "ja klar; danke; guten Morgen; guten Abend; bitte; tschüss; wie geht es dir?; auf Wiedersehen; entschuldigung",
    "fr": "merci; bonjour; bonsoir; s'il vous plaît; au revoir; comment ça va?; bonne nuit; oui",
    "es": "hola; hola, ¿qué tal?; gracias; buenos días; buenas noches; por favor; hasta luego; ¿cómo estás?; feliz cumpleaños",
    "it": "grazie; buongiorno; buonasera; arrivederci; per favore; come stai?",
    "pt": "obrigado; obrigada; bom dia; boa noite; tudo bem?; até amanhã",
    "nl": "dank je wel; goedemorgen; tot ziens; hoe gaat het?; alsjeblieft",
    "pl": "dziękuję; dzień dobry; dobranoc; do widzenia; proszę",
    "sv": "god morgon; tack så mycket; hur mår du?",
    "fi": "kiitos; hyvää huomenta; mitä kuuluu?; näkemiin",
    "cs": "děkuji; dobrý den; na shledanou",
    "hu": "köszönöm; jó reggelt; viszontlátásra",
    "ro": "mulțumesc; bună dimineața; la revedere",
    "tr": "teşekkürler; günaydın; merhaba; nasılsın?",
    "vi": "cảm ơn; xin chào; tạm biệt",
    "id": "terima kasih; selamat pagi; apa kabar?",
    "ru": "привет; спасибо; доброе утро; до свидания; как дела?; пожалуйста",
    "uk": "дякую; привіт; доброго ранку",
    "el": "ευχαριστώ; καλημέρα; γεια σου",
    "ar": "شكرا; مرحبا; صباح الخير",
    "he": "שלום; תודה; בוקר טוב",
    "hi": "नमस्ते; धन्यवाद; आप कैसे हैं?",
    "ja": "こんにちは; ありがとう; おはようございます",
    "ko": "안녕하세요; 감사합니다; 잘 자요",
    "zh-Hans": "你好; 谢谢; 早上好; 谢谢你的帮助",
    "th": "สวัสดี; ขอบคุณ",
}
"""Language -> what people say every day."""

NO_LANGUAGE = (
    "12345",
    "😀🎉",
    "👍",
    "https://example.com/a?b=1",
    "3.14",
    "2026-11-22",
    "...",
    "",
    "me@example.com",
    "x = f(y[0]) + 1;",
    "GG",
    "iPhone 15",
    "WhatsApp",
    "PlayStation 5",
    "#Berlin @anna",
    "NullPointerException",
)

ENDINGS = (
    "!!!",
    " ???",
    "...",
    " 😊😊😊",
    " 17:30",
    " https://example.com/a",
    " @anna",
    " #news",
    " me@example.com",
    ".",
    " (2)",
    "\u200b",
)
"""What says nothing about a language, in the file's contract."""


@pytest.fixture(scope="module")
def detector() -> rl.Classifier:
    found = rl.load("language")
    assert isinstance(found, rl.Classifier)
    return found


SURE = ("hi", "hello", "thanks", "ja klar", "hola, ¿qué tal?", "god morgon", "早上好", "yes", "good morning", "danke", "guten Morgen", "merci", "bonjour", "oui", "hola", "gracias", "grazie", "obrigado",
        "kiitos", "dziękuję", "teşekkürler", "terima kasih", "привет", "спасибо", "дякую", "ευχαριστώ", "こんにちは", "안녕하세요", "你好", "谢谢", "नमस्ते", "สวัสดี")  # fmt: skip
"""Those of them that must be right, whatever else changes."""


def test_everyday_words_have_their_language(detector: rl.Classifier) -> None:
    pairs = [(text, tag) for tag, texts in GREETINGS.items() for text in texts.split("; ")]
    assert len(pairs) >= 100
    found = [answers[0].label for answers in detector.predict([text for text, _ in pairs], top=1)]
    wrong = {text: label for (text, tag), label in zip(pairs, found, strict=True) if label != tag}
    assert not set(SURE) & set(wrong)
    assert set(SURE) <= {text for text, _ in pairs}
    assert len(wrong) <= 0.07 * len(pairs), wrong


@pytest.mark.parametrize("text", NO_LANGUAGE)
def test_what_is_no_language_has_no_label(detector: rl.Classifier, text: str) -> None:
    assert detector.predict(text, top=1)[0].label is None


@pytest.mark.parametrize("ending", ENDINGS)
def test_endings_say_nothing(detector: rl.Classifier, ending: str) -> None:
    texts = [text.rstrip("?") for texts in GREETINGS.values() for text in texts.split("; ")]
    plain, ended = detector.probabilities(texts), detector.probabilities([text + ending for text in texts])
    np.testing.assert_array_equal(plain, ended)


def test_sites_keep_the_language(detector: rl.Classifier) -> None:
    pairs = [(text, tag) for tag, texts in GREETINGS.items() for text in texts.split("; ")]
    found = detector.predict([f"{text} www.example.com" for text, _ in pairs], top=1)
    assert np.mean([answer[0].label == tag for answer, (_, tag) in zip(found, pairs, strict=True)]) >= 0.8


def test_disguised_letters_are_read(detector: rl.Classifier) -> None:
    for text, tag in (
        ("ｄａｎｋｅ ｓｃｈöｎ", "de"),
        ("𝐛𝐨𝐧𝐣𝐨𝐮𝐫", "fr"),
        ("grаzie mille", "it"),
        ("h.o.l.a g.r.a.c.i.a.s", "es"),
    ):
        assert detector.predict(text, top=1)[0].label == tag


def test_only_the_languages_of_an_app() -> None:
    limited = rl.load("language", languages=["de", "en", "tr"])
    assert limited.labels == ("de", "en", "tr", "unknown")
    answers = [answer[0].label for answer in limited.predict(["no", "danke", "merhaba", "12:30", "tak"], top=1)]
    assert answers[:4] == ["en", "de", "tr", None] and answers[4] in ("de", "en", "tr", None)
    with pytest.raises(rl.RetvecLiteError, match=r"no label 'zh', but there are zh-Hans, zh-Hant\.$"):
        rl.load("language", languages=["zh"])


def test_typos_and_case_keep_the_language(detector: rl.Classifier) -> None:
    for text, tag in (
        ("Wheer is teh naerest staiton?", "en"),
        ("WO IST DER BAHNHOF?", "de"),
        ("Dove si tovra la stazoine?", "it"),
    ):
        assert detector.predict(text, top=1)[0].label == tag
    assert detector.predict("Желим да научим српски језик, хвала вам.", top=1)[0].label == "sr-Cyrl"
    assert detector.predict("請問車站在哪裡？", top=1)[0].label == "zh-Hant"


def test_decomposed_text_is_the_same_text(detector: rl.Classifier) -> None:
    both = detector.probabilities(["người Việt Nam", unicodedata.normalize("NFD", "người Việt Nam")])
    np.testing.assert_array_equal(*both)


def test_the_file_is_small_and_needs_no_network() -> None:
    assert LANGUAGE.stat().st_size < 800_000
    artifact = read_artifact("language")
    assert artifact.metadata["head"] == "ngrams" and len(artifact.labels) > 150
    assert artifact.metadata["oldest_runtime"] == {"tflite-runtime": "2.14.0"}
    assert len(set(artifact.labels)) == len(artifact.labels) and "unknown" in artifact.labels


@pytest.mark.parametrize("runtime", installed_runtimes())
def test_every_runtime_answers_as_the_reference(runtime: str) -> None:
    from retvec_lite.model.weight_files import load_trained_model

    model = load_trained_model("language")
    assert isinstance(model.ngrams, NgramConfig) and runtime in RUNTIMES
    rows = np.stack([text.codepoints for text in golden_texts(model.encoder)])
    rng = np.random.default_rng(0)
    alphabets = ((0x20, 0x24F), (0x370, 0x5FF), (0x600, 0x10FF), (0x3040, 0x9FFF), (0xAC00, 0xD7A3), (0x1F300, 0x1F6FF))
    drawn = ["".join(map(chr, rng.integers(*alphabets[index % 6], size=index % 40))) for index in range(60)]
    rows = np.concatenate([rows, codepoint_rows(drawn, model.encoder.max_chars)])
    (found,) = run_models(runtime, [Job(read_artifact("language").model, rows)])
    logits = np.stack([ngram_logits(row, model.encoder, model.ngrams, model.weights) for row in rows]).astype(
        np.float64
    )
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    # The projection is stored in 8 bits.
    np.testing.assert_allclose(found["probabilities"], powers / powers.sum(axis=1, keepdims=True), atol=0.05)


def test_names_are_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert PREBUILT == ("language",) and is_prebuilt("language") and not is_prebuilt(Path("language"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "language").mkdir()
    assert rl.load("language").labels == rl.load(LANGUAGE).labels
    with pytest.raises(rl.RetvecLiteError, match="No exported file in language"):
        rl.load("./language")


def test_every_command_knows_the_name() -> None:
    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "retvec_lite", *arguments], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run("classify", "language", "guten Morgen").startswith("de\t")
    assert run("classify", "language", "12345").startswith("unknown\t")
    assert "ngrams" in run("info", "language")


@pytest.mark.exhaustive
def test_it_is_exported_to_both_formats_and_verified(tmp_path: Path) -> None:
    code = (
        "import sys, retvec_lite as rl\n"
        "from retvec_lite.converters.export import export_model\n"
        "from retvec_lite.model.weight_files import load_trained_model\n"
        "print(export_model(load_trained_model('language'), sys.argv[1], formats=['all']).ok)\n"
        "print(rl.verify('language').ok, rl.verify(sys.argv[1]).ok)\n"
    )
    dist = tmp_path / "dist"
    done = subprocess.run([sys.executable, "-c", code, str(dist)], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["True", "True", "True"], done.stderr[-2000:]
    assert {"classifier-int8.tflite", "classifier-int8.mlpackage", "golden.json"} <= {
        path.name for path in dist.iterdir()
    }
    # What ships is what its weights give.
    assert read_artifact(dist / "classifier-int8.tflite").model == read_artifact("language").model
    assert (dist / "classifier-int8.retvec").read_bytes() == locate("language", ".retvec").read_bytes()
