package org.retveclite.demo

import org.junit.Assert.assertEquals
import org.junit.Assert.assertNotEquals
import org.junit.Assert.assertThrows
import org.junit.Assert.assertTrue
import org.junit.Test
import kotlin.math.abs

class MistypeTest {
    private val text = "Where is my parcel? It should have arrived yesterday, and nobody told me why it did not."

    private fun changed(share: Float, seed: Int = 1): List<Int> {
        val mistyped = mistype(text, share, seed).split(" ")
        return text.split(" ").indices.filter { text.split(" ")[it] != mistyped[it] }
    }

    @Test
    fun noWordAtShare0AndEveryWordAtShare1() {
        assertEquals(text, mistype(text, 0f, 1))
        for (seed in 1..50) assertEquals("seed $seed", text.split(" ").size, changed(1f, seed).size)
    }

    @Test
    fun theShareDecidesHowManyWords() {
        val words = text.split(" ").size
        for (seed in 1..50) {
            for (percent in 0..100 step 5) {
                val expected = words * percent / 100.0
                assertTrue("$percent % with seed $seed", abs(changed(percent / 100f, seed).size - expected) <= 2)
            }
        }
    }

    @Test
    fun aLargerShareKeepsMistypedWords() {
        var before = mistype(text, 0f, 7).split(" ")
        for (percent in 0..100) {
            val now = mistype(text, percent / 100f, 7).split(" ")
            val original = text.split(" ")
            for (word in now.indices) if (before[word] != original[word]) assertEquals(before[word], now[word])
            before = now
        }
    }

    @Test
    fun typingMoreChangesNoEarlierWord() {
        val whole = mistype(text, 0.5f, 3).split(" ")
        for (words in 1..whole.size) {
            assertEquals(whole.take(words), mistype(text.split(" ").take(words).joinToString(" "), 0.5f, 3).split(" "))
        }
    }

    @Test
    fun theSeedDecides() {
        assertEquals(mistype(text, 0.6f, 5), mistype(text, 0.6f, 5))
        assertNotEquals(mistype(text, 0.6f, 5), mistype(text, 0.6f, 6))
    }

    @Test
    fun gapsDoNotChange() {
        val gaps = "  one\n\ttwo\u3000three  "
        for (seed in 1..20) {
            assertEquals(gaps.filter(Char::isWhitespace), mistype(gaps, 1f, seed).filter(Char::isWhitespace))
        }
    }

    @Test
    fun aTypoIsOneEditOfTheWord() {
        for (seed in 1..500) {
            val edits = distance("parcel", mistype("parcel", 1f, seed))
            assertTrue("seed $seed: ${mistype("parcel", 1f, seed)}", edits in 1..2)
        }
        assertEquals(setOf(5, 6, 7), (1..500).map { mistype("parcel", 1f, it).length }.toSet())
    }

    @Test
    fun everyWordOfEveryScriptChangesAndStaysValid() {
        val words = listOf("a", "I", "aaa", "x1", "!", "42", "посылка", "Где", "طرد", "σπίτι", "包裹在哪里", "소포", "😀", "👍🏽", "é", "ß", "\uD800")
        for (word in words) {
            for (seed in 1..200) {
                val mistyped = mistype(word, 1f, seed)
                assertNotEquals("seed $seed", word, mistyped)
                assertTrue(mistyped.isNotEmpty() && mistyped.none(Char::isWhitespace))
                if (word != "\uD800") assertEquals("seed $seed of $word", mistyped, String(mistyped.toByteArray()))
            }
        }
    }

    @Test
    fun lettersComeFromTheScriptOfTheWord() {
        for (seed in 1..300) {
            assertTrue(mistype("посылка", 1f, seed).all { Character.UnicodeBlock.of(it) == Character.UnicodeBlock.CYRILLIC })
            assertTrue(mistype("طرد", 1f, seed).all { Character.UnicodeBlock.of(it) == Character.UnicodeBlock.ARABIC })
            assertTrue(mistype("parcel", 1f, seed).all { it in 'a'..'z' })
        }
    }

    @Test
    fun aShareOutsideItsBoundsIsRefused() {
        assertThrows(IllegalArgumentException::class.java) { mistype(text, 1.1f, 1) }
        assertThrows(IllegalArgumentException::class.java) { mistype(text, -0.1f, 1) }
    }

    /** Levenshtein distance: a swap counts two. */
    private fun distance(a: String, b: String): Int {
        var row = IntArray(b.length + 1) { it }
        for (i in a.indices) {
            val next = IntArray(b.length + 1)
            next[0] = i + 1
            for (j in b.indices) next[j + 1] = minOf(row[j + 1] + 1, next[j] + 1, row[j] + if (a[i] == b[j]) 0 else 1)
            row = next
        }
        return row.last()
    }
}
