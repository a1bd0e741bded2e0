package org.retveclite.demo

import org.junit.Assert.assertEquals
import org.junit.Assert.assertThrows
import org.junit.Assert.assertTrue
import org.junit.Test
import org.retveclite.FakeEngine
import org.retveclite.ModelFile
import org.retveclite.TextClassifier
import java.util.Locale

class AnswerTest {
    @Test
    fun theMostProbableLabelIsFound() {
        assertEquals(1, Answer("", listOf("a", "b", "c"), floatArrayOf(0.1f, 0.7f, 0.2f), listOf(1), 1, emptyList()).top)
        assertThrows(IllegalStateException::class.java) { Answer("", emptyList(), FloatArray(0), emptyList(), 1, emptyList()) }
    }

    @Test
    fun anAnswerHasTheTimeOfACallAndTheWords() {
        assertEquals(1.5, Answer("", listOf("a"), floatArrayOf(1f), emptyList(), 1_500_000, emptyList()).millis, 0.0)
        val engine = FakeEngine()
        val answer = TextClassifier(ModelFile.buffer(ModelFile.bytes)) { engine }.answer("hi you there")
        assertEquals(1 + 1 + 3, engine.runs.size)
        assertEquals(listOf("hi", "you", "there"), answer.words.map { answer.text.substring(it.start, it.end) })
        assertTrue(answer.nanos > 0)
        assertEquals(answer.labels.size, answer.probabilities.size)
    }

    @Test
    fun numbersAndLabelsAreReadable() {
        assertEquals("one time code", readable("one_time_code"))
        assertEquals("98%", percent(0.984f, Locale.US))
        assertEquals("98\u00a0%", percent(0.984f, Locale.GERMANY))
    }
}
