package org.retveclite

import org.junit.Assert.assertArrayEquals
import org.junit.Assert.assertEquals
import org.junit.Assert.assertThrows
import org.junit.Assert.assertTrue
import org.junit.Assume.assumeTrue
import org.junit.Before
import org.junit.Test
import java.io.File
import java.nio.ByteBuffer
import java.nio.ByteOrder
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
                assertArrayEquals("$name, ${case.name}", expected, classifier.classify(case.text!!), golden.tolerance)
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
                assertEquals(classifier.classify(case.text).max(), always.probability, 0f)
                assertEquals(classifier.labels[classifier.classify(case.text).let { all -> all.indices.maxByOrNull { all[it] }!! }], always.label)
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
            val whole = classifier.classify(text)[1]
            val spans = classifier.explain(text, label = 1)
            assertEquals(words, spans.map { text.substring(it.start, it.end) })
            for (span in spans) {
                val without = classifier.classify(text.take(span.start).trimEnd() + " " + text.drop(span.end).trimStart())[1]
                assertEquals(text, ln(whole) - ln(without), span.weight, 1e-5f)
            }
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
    fun textsAreComposedAndCutWhereReadingEnds() = RetvecClassifier(file("plain")).use { classifier ->
        assertArrayEquals(classifier.classify("\u00FCber"), classifier.classify("u\u0308ber"), 0f)
        val filler = "parcel ".repeat(classifier.readLimit / 7 + 1).take(classifier.readLimit)
        assertArrayEquals(classifier.classify(filler), classifier.classify("$filler cancel"), 0f)
        assertArrayEquals(classifier.classify("\uFFFD"), classifier.classify("\uD83D"), 0f)
    }

    /** A file as one that follows version 3 of the contract, under a right checksum. */
    private fun asVersion3(bytes: ByteArray): ByteBuffer {
        val file = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN)
        val settings = List(file.getInt(20)) { 64 + 16 * it }.first { file.getInt(it) == 1 }
        file.putInt(file.getInt(settings + 4), 3).putLong(24, 0)
        return file.putLong(24, (0 until bytes.size / 4).sumOf { file.getInt(4 * it).toUInt().toLong() * (2 * it + 1) })
    }

    @Test
    fun textsAreCondensedFromVersion3On() = RetvecClassifier(asVersion3(file("plain").readBytes())).use { classifier ->
        val padded = " <b>${"\u200B".repeat(classifier.readLimit)}w - h - e - r - e</b>  %69s&#32;it${"?".repeat(600_000)}"
        assertArrayEquals(classifier.classify("where is it?"), classifier.classify(padded), 0f)
        assertArrayEquals(classifier.embed("where is it?"), classifier.embed(padded), 0f)
        assertEquals(classifier.predict("where is it?"), classifier.predict(padded))
        val text = "<b>u\u0308ber</b> &#117;ns da"
        assertEquals(text.split(" "), classifier.explain(text).map { text.substring(it.start, it.end) })
        assertArrayEquals(classifier.classify("\u00FCber uns da"), classifier.classify(text), 0f)
    }

    @Test
    fun damagedFilesAreRefusedWithASentence() {
        val bytes = file("plain").readBytes()
        fun message(content: ByteArray): String =
            assertThrows(UnsupportedModelException::class.java) { RetvecClassifier(ByteBuffer.wrap(content)) }.message!!
        assertTrue(message(ByteArray(0)).contains("not a .retvec"))
        assertTrue(message("not a model at all".toByteArray()).contains("not a .retvec"))
        assertTrue(message(bytes.copyOf(bytes.size / 2)).contains("not as long as it says"))
        bytes[bytes.size - 100] = (bytes[bytes.size - 100] + 1).toByte()
        assertTrue(message(bytes).contains("changed after its export"))
    }

    @Test
    fun anAssetMayStartAnywhereAndThreadsMayShareAnInstance() {
        val bytes = file("plain").readBytes()
        val shifted = ByteBuffer.allocateDirect(bytes.size + 4).apply { position(4) }.slice().put(bytes)
        RetvecClassifier(shifted as ByteBuffer).use { classifier ->
            val expected = classifier.classify("where is my parcel")
            val threads = List(4) { Thread { repeat(200) { classifier.predict("other words $it") } } }.onEach(Thread::start)
            repeat(200) { assertArrayEquals(expected, classifier.classify("where is my parcel"), 0f) }
            threads.forEach(Thread::join)
        }
    }

    @Test
    fun aClosedClassifierSaysSo() {
        val classifier = RetvecClassifier(file("plain")).apply { close() }
        assertEquals("The classifier is closed.", assertThrows(IllegalStateException::class.java) { classifier.predict("a") }.message)
    }
}
