package org.retveclite

import org.json.JSONObject
import org.junit.Assert.assertArrayEquals
import org.junit.Assert.assertEquals
import org.junit.Assert.assertThrows
import org.junit.Assert.assertTrue
import org.junit.Assume.assumeTrue
import org.junit.Before
import org.junit.Test
import java.io.File
import java.nio.ByteBuffer
import kotlin.math.ln
import kotlin.math.sqrt

/** Compares the engine, which `make test-android` builds for this machine, with the golden answers of Python. */
class RetvecClassifierTest {
    @Before
    fun theEngineIsThere() =
        assumeTrue(File(System.getProperty("java.library.path"), System.mapLibraryName("retvec_lite")).exists())

    private fun file(name: String) = File("../../golden/$name.retvec")

    private fun golden(name: String) = Golden(File("../../golden/$name.json").inputStream(), engine = true)

    @Test
    fun answersMatchPython() {
        for (name in listOf("plain", "rejecting", "several")) RetvecClassifier(file(name)).use { classifier ->
            val golden = golden(name)
            assertEquals(golden.labels, classifier.labels)
            val cases = (golden.cases + golden.long).filter { it.text != null }
            assertTrue(cases.size > 80)
            for (case in cases) {
                val expected = case.probabilities(golden.recipe)
                assertArrayEquals("$name, ${case.name}", expected, classifier.probabilities(case.text!!), golden.tolerance)
            }
        }
    }

    @Test
    fun labelsMatchPythonAndSomeTextsHaveNone() {
        for (name in listOf("plain", "rejecting")) RetvecClassifier(file(name)).use { classifier ->
            val golden = golden(name)
            val cases = (golden.cases + golden.long).filter { it.text != null && it.hasLabel(golden.recipe) }
            assertEquals(name == "rejecting", cases.any { it.label(golden.recipe) == null })
            assertTrue(cases.any { it.label(golden.recipe) != null })
            for (case in cases) {
                val expected = case.label(golden.recipe)
                assertEquals("$name, ${case.name}", expected, classifier.predict(case.text!!).label)
                assertEquals("$name, ${case.name}", listOfNotNull(expected), classifier.predictAll(case.text).map { it.label })
                val always = classifier.predict(case.text, reject = false)
                assertEquals(classifier.probabilities(case.text).max(), always.probability, 0f)
                assertEquals(classifier.labels[classifier.probabilities(case.text).let { all -> all.indices.maxByOrNull { all[it] }!! }], always.label)
            }
        }
    }

    @Test
    fun aTextMayHaveSeveralLabels() = RetvecClassifier(file("several")).use { classifier ->
        val golden = golden("several")
        val cases = golden.cases.filter { it.text != null && it.hasLabel(golden.recipe) }
        assertTrue(cases.any { it.labels(golden.recipe).size > 1 })
        for (case in cases) {
            val found = classifier.predictAll(case.text!!)
            assertEquals(case.name, case.labels(golden.recipe).toSet(), found.map { it.label }.toSet())
            assertEquals(found.sortedByDescending { it.probability }, found)
            assertEquals(found.firstOrNull()?.label, classifier.predict(case.text).label)
        }
    }

    @Test
    fun explanationsSayWhatEachWordIsWorth() = RetvecClassifier(file("plain")).use { classifier ->
        val parts = mapOf(
            "where is my parcle" to listOf("where", "is", "my", "parcle"),
            "cancel it \uD83D\uDE00!" to listOf("cancel", "it", "\uD83D\uDE00!"),
            "parcel" to listOf("par", "cel"),
            "\u6211\u7684\u5305\u88F9" to listOf("\u6211", "\u7684", "\u5305", "\u88F9"),
            "" to emptyList(),
            "?" to listOf("?"),
        )
        for ((text, words) in parts) {
            val whole = classifier.probabilities(text)[1]
            val spans = classifier.explain(text, label = classifier.labels[1])
            assertEquals(words, spans.map { text.substring(it.start, it.end) })
            for (span in spans) {
                val without = classifier.probabilities(text.take(span.start).trimEnd() + " " + text.drop(span.end).trimStart())[1]
                assertEquals(text, ln(whole) - ln(without), span.weight, 1e-5f)
            }
        }
    }

    @Test
    fun goldenTextsAreExplainedAsTheyAreGiven() {
        for (name in listOf("plain", "rejecting", "several")) {
            RetvecClassifier(file(name)).use { checkExplanations(file(name), it::explain) }
        }
    }

    @Test
    fun embeddingsHaveLengthOne() {
        RetvecClassifier(file("plain")).use { classifier ->
            val found = classifier.embed("where is my parcel")
            assertEquals(classifier.embeddingSize, found.size)
            assertEquals(1f, sqrt(found.fold(0f) { sum, value -> sum + value * value }), 1e-5f)
            assertTrue(classifier.embed(" \n ").all { it == 0f })
        }
    }

    @Test
    fun textsAreReadAsTheyAreGivenAndCutWhereReadingEnds() = RetvecClassifier(file("plain")).use { classifier ->
        assertArrayEquals(classifier.probabilities("\u00FCber"), classifier.probabilities("u\u0308ber"), 0f)
        assertArrayEquals(classifier.embed("\u00FCber"), classifier.embed("u\u0308ber"), 0f)
        val filler = "parcel ".repeat(classifier.readLimit / 7 + 1).take(classifier.readLimit)
        assertArrayEquals(classifier.probabilities(filler), classifier.probabilities("$filler cancel"), 0f)
        assertArrayEquals(classifier.probabilities("\uFFFD x"), classifier.probabilities("\uD83D x"), 0f)
        val text = "u\u0308ber \uD83D\uDE00\u0301 \u1100\u1161\u11A8 \uDC00 e\u0301a\u0300 \u0958"
        assertEquals(text.split(" "), classifier.explain(text).map { text.substring(it.start, it.end) })
    }

    @Test
    fun textsAreCondensed() = RetvecClassifier(file("plain")).use { classifier ->
        val padded = " <b>${"\u200B".repeat(classifier.readLimit)}w - h - e - r - e</b>  %69s&#32;it${"?".repeat(600_000)}"
        assertArrayEquals(classifier.probabilities("where is it?"), classifier.probabilities(padded), 0f)
        assertArrayEquals(classifier.embed("where is it?"), classifier.embed(padded), 0f)
        assertEquals(classifier.predict("where is it?"), classifier.predict(padded))
        val text = "<b>u\u0308ber</b> &#117;ns da"
        assertEquals(text.split(" "), classifier.explain(text).map { text.substring(it.start, it.end) })
        assertArrayEquals(classifier.probabilities("\u00FCber uns da"), classifier.probabilities(text), 0f)
        val most = 1 shl 20
        for (unit in listOf("a", "\u4E00", "\uD83D\uDE00")) classifier.probabilities(unit.repeat(most / unit.length - 1) + "x\uD83D\uDE00")
        assertEquals(classifier.readLimit, classifier.explain("a".repeat(most - 1) + "\uD83D\uDE00").last().end)
    }

    @Test
    fun theFileSaysWhatItIs() = RetvecClassifier(file("plain")).use { classifier ->
        assertEquals(classifier.labels, JSONObject(classifier.metadata).getJSONArray("labels").let { List(it.length(), it::getString) })
        assertEquals(classifier.predict("my parcel"), classifier.predictMany(listOf("cancel it", "my parcel"))[1])
    }

    @Test
    fun damagedFilesAreRefusedWithASentence() {
        val bytes = file("plain").readBytes()
        fun refused(code: String, part: String, content: ByteArray) {
            val problem = assertThrows(RetvecError::class.java) { RetvecClassifier(ByteBuffer.wrap(content)) }
            assertEquals(code, problem.code)
            assertTrue(problem.message!!.contains(part))
        }
        refused("RVL_NOT_RETVEC", "not a .retvec", ByteArray(0))
        refused("RVL_NOT_RETVEC", "not a .retvec", "not a model at all".toByteArray())
        refused("RVL_TRUNCATED", "not as long as it says", bytes.copyOf(bytes.size / 2))
        bytes[bytes.size - 100] = (bytes[bytes.size - 100] + 1).toByte()
        refused("RVL_CHANGED", "changed after its export", bytes)
        val missing = assertThrows(RetvecError::class.java) { RetvecClassifier(File("no/such.retvec")) }
        assertEquals("CANNOT_LOAD", missing.code)
    }

    @Test
    fun anAssetMayStartAnywhereAndThreadsMayShareAnInstance() {
        val bytes = file("plain").readBytes()
        val shifted = ByteBuffer.allocateDirect(bytes.size + 4).apply { position(4) }.slice().put(bytes)
        RetvecClassifier(shifted as ByteBuffer).use { classifier ->
            val expected = classifier.probabilities("where is my parcel")
            val threads = List(4) { Thread { repeat(200) { classifier.predict("other words $it") } } }.onEach(Thread::start)
            repeat(200) { assertArrayEquals(expected, classifier.probabilities("where is my parcel"), 0f) }
            threads.forEach(Thread::join)
        }
    }

    @Test
    fun aClosedClassifierSaysSo() {
        val classifier = RetvecClassifier(file("plain")).apply { close() }
        assertEquals("CLOSED", assertThrows(RetvecError::class.java) { classifier.predict("a") }.code)
    }

    @Test
    fun onlyWhatTheModelKnowsIsAsked() = RetvecClassifier(file("several")).use { classifier ->
        assertEquals("WRONG_CALL", assertThrows(RetvecError::class.java) { classifier.explain("a", "no such label") }.code)
    }
}
