package org.retveclite.demo

import org.junit.Assert.assertEquals
import org.junit.Test
import org.retveclite.Span

class MarkedTextTest {
    @Test
    fun wordsAreMarkedByTheirShareOfTheStrongest() {
        val words = listOf(Span(0, 2, -4f), Span(3, 5, 0.1f), Span(6, 7, 1f), Span(8, 9, 0f))
        assertEquals(listOf(words[0] to -1f, words[2] to 0.25f), marks(words))
    }

    @Test
    fun nothingIsMarkedWhereNoWordMatters() {
        assertEquals(emptyList<Any>(), marks(emptyList()))
        assertEquals(emptyList<Any>(), marks(listOf(Span(0, 2, 0f))))
    }

    @Test
    fun aWeakerColorIsLessOpaque() {
        assertEquals(0xFF93D3C3.toInt(), faded(0xFF93D3C3.toInt(), 1f))
        assertEquals(0x4093D3C3, faded(0xFF93D3C3.toInt(), 0.25f))
    }
}
