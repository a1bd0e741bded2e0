package org.retveclite.demo

import org.junit.Assert.assertEquals
import org.junit.Assert.assertThrows
import org.junit.Test
import java.util.Locale

class AnswerTest {
    @Test
    fun theMostProbableLabelIsFound() {
        assertEquals(1, Answer("", listOf("a", "b", "c"), floatArrayOf(0.1f, 0.7f, 0.2f), listOf(1), 1, emptyList(), 0).top)
        assertThrows(IllegalStateException::class.java) { Answer("", emptyList(), FloatArray(0), emptyList(), 1, emptyList(), 0) }
    }

    @Test
    fun anAnswerHasTheTimeOfACall() {
        assertEquals(1.5, Answer("", listOf("a"), floatArrayOf(1f), emptyList(), 1_500_000, emptyList(), 0).millis, 0.0)
    }

    @Test
    fun numbersAndLabelsAreReadable() {
        assertEquals("one time code", readable("one_time_code"))
        assertEquals("98%", percent(0.984f, Locale.US))
        assertEquals("98\u00a0%", percent(0.984f, Locale.GERMANY))
    }
}
