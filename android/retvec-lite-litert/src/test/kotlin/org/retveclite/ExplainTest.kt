package org.retveclite

import org.json.JSONArray
import org.junit.Assert.assertEquals
import org.junit.Assert.assertThrows
import org.junit.Assert.assertTrue
import org.junit.Test
import java.io.File
import kotlin.math.ln

class ExplainTest {
    private fun words(text: String, parts: List<Pair<Int, Int>>) = parts.map { (start, end) -> text.substring(start, end) }

    private fun pretend(engine: FakeEngine) =
        TextClassifier(ModelFile.with(ModelFile.json.toString())) { engine }

    @Test
    fun partsAreThoseOfPython() {
            val file = File("../../tests/data/parts.json")
        val cases = JSONArray(file.readText())
        assertTrue(cases.length() > 15)
        for (case in List(cases.length()) { cases.getJSONArray(it) }) {
            val text = case.getString(0)
            val expected = case.getJSONArray(1).let { list -> List(list.length()) { list.getString(it) } }
            assertEquals(text, expected, words(text, TextReader.parts(text)))
        }
    }

    @Test
    fun aBlankStandsWhereAPartWas() {
        assertEquals("wake up", leaveOut("wake\u00a0me\nup", 5, 7))
        assertEquals("\u6f22 \u5b57", leaveOut("\u6f22\u304b\u5b57", 1, 2))
        assertEquals(" b", leaveOut("a b", 0, 1))
        assertEquals("other windows stay", "a    c", leaveOut("a \uD83D\uDE00b c", 2, 5, inWindows = true))
    }

    @Test
    fun weightsAreHowMuchTheLogProbabilityFalls() {
        // The fake answers 1, 2, 3, 4 to the first, second, third and fourth text.
        val classifier = pretend(FakeEngine())
        val spans = classifier.explain("wake me up", classifier.labels[0])
        assertEquals(listOf(0 to 4, 5 to 7, 8 to 10), spans.map { it.start to it.end })
        for ((index, span) in spans.withIndex()) assertEquals(-ln(index + 2f), span.weight, 1e-6f)
    }

    @Test
    fun aLongTextIsNotAnsweredWithoutEachOfItsWords() {
        val text = "words of it all ".repeat(200) + "WAKE" + " and more of them".repeat(80)
        var read = 0
        val spans = explain(text, text.length, 100, null) {
            read += it.length
            if ("WAKE" in it) floatArrayOf(.9f, .1f) else floatArrayOf(.2f, .8f)
        }
        assertTrue(read <= (1 shl 18) + 2 * text.length)
        val best = spans.maxByOrNull { it.weight }!!
        assertEquals("WAKE", text.substring(best.start, best.end))
        assertEquals(ln(.9f / .2f), best.weight, 1e-5f)
        for ((one, other) in spans.zipWithNext()) assertEquals("", text.substring(one.end, other.start).trim())
        assertEquals(0 to text.length, spans.first().start to spans.last().end)
    }

    @Test
    fun onlyWhatTheModelReadsIsExplained() {
        val classifier = pretend(FakeEngine())
        val word = "x".repeat(classifier.readLimit / 2)
        assertEquals(classifier.readLimit, classifier.explain("$word \uD83D\uDE00 $word").last().end - 1)
        assertEquals(emptyList<Span>(), classifier.explain(""))
    }

    @Test
    fun spansAreThoseOfTheTextAsItIsGiven() {
        val text = "<b>wake</b>   m&#101; up"
        assertEquals(listOf("<b>wake</b>", "m&#101;", "up"), pretend(FakeEngine()).explain(text).map { text.substring(it.start, it.end) })
    }

    @Test
    fun anUnknownLabelIsNotExplained() {
        val problem = assertThrows(RetvecError::class.java) { pretend(FakeEngine()).explain("wake me up", "no such label") }
        assertEquals("WRONG_CALL", problem.code)
    }

    @Test
    fun aRealModelIsExplained() {
        TextClassifier(ModelFile.buffer(ModelFile.bytes), ::TensorFlowLite).use { classifier ->
            val song = "please play some jazz now"
            val strongest = classifier.explain(song).maxByOrNull { it.weight }!!
            assertTrue(song.substring(strongest.start, strongest.end) in listOf("play", "jazz"))
            val text = "Where is my parcel?"
            for (label in classifier.labels.indices) {
                val expected = ln(classifier.probabilities(text)[label]) - ln(classifier.probabilities("Where is my")[label])
                assertEquals(classifier.labels[label], expected, classifier.explain(text, classifier.labels[label]).last().weight, 1e-4f)
            }
        }
    }
}
