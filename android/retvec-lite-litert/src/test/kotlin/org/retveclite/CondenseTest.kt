package org.retveclite

import org.junit.Assert.assertEquals
import org.junit.Test

/** What golden.json has no texts for: padding of any length, the read limit, and an array that all texts share. */
class CondenseTest {
    private val condensed = Condensed(LIMIT)

    private fun read(text: String): String = condensed.run { read(text).let { String(points, 0, count) } }

    @Test
    fun paddingOfAnyLengthLeavesAFewCharacters() {
        for (padding in SHAPES) {
            for (times in listOf(30, 30_000 / padding.length)) {
                val found = read(padding.repeat(times) + REQUEST)
                assertEquals("$padding, $times times: $found", REQUEST.trim(), found.takeLast(REQUEST.length).trim())
                assertEquals("$padding, $times times: $found", true, found.length < 12 + REQUEST.length)
            }
        }
    }

    @Test
    fun whatIsReadIsTheStartOfWhatIsLeft() {
        assertEquals("word".repeat(LIMIT / 4), read("w<b>o</b>r&#100;".repeat(9 * LIMIT)))
        // Of a gap, three separators count until spread words are joined.
        assertEquals("ab ".repeat(LIMIT / 5 + 1).trim(), read("ab    \u0591".repeat(LIMIT)))
    }

    @Test
    fun whatPeopleMeanByRepeatsIsRead() {
        for (text in listOf("AAA aaa XXXL III xxxiii xxxxl aaabbb123 1000 10005 \u041E\u041E\u041E", "\u2605\u2605\u2606\u2606\u2606", "\u2605 \u2605 \u2605 \u2606 \u2606", "$$$$", "!!!!!!!!!!")) {
            assertEquals(text, read(text))
        }
        assertEquals("soo NOO !", read("sooooooo NOOOOOOOOO !!!!!!!!!!!"))
        assertEquals("\u0633\u0644\u0627\u0645", read("\u0633\u064E\u0644\u0640\u0640\u064E\u0627\u0645\u064C"))
        assertEquals("\u043C\u0443\u0437\u044B\u043A\u0443", read("\u043Cy\u0437\u044B\u043Ay"))
        assertEquals("F\u0433\u0435\u0435", read("F\u0433\u0435\u0435"))
    }

    @Test
    fun whatIsDisplayedIsRead() {
        assertEquals("free money", read("frxy\b\bee \u202eyenom"))
        assertEquals("money", read("m\u202d\u2066\u202e\u2066n\u2069\u2066o\u2069\u202c\u2069\u202cey"))
        assertEquals("\u05e9\u05dc\u05d5\u05dd now", read("\u202e\u05e9\u05dc\u05d5\u05dd\u202c now"))
        assertEquals("FREE IT", read("\uD83C\uDDEB \uD83C\uDDF7 \uD83C\uDDEA \uD83C\uDDEA   \uD83C\uDDEE \uD83C\uDDF9"))
        for (shape in listOf("a\b", "\u202ea", "\u202e", "\u202ea\u202c", "\u2066\u2069", "\u2069", "\b", "\u202ea\u2066")) {
            assertEquals(shape, true, read(shape.repeat(1_000_000 / shape.length)).length <= 2)
        }
    }

    @Test
    fun halfAMillionCodePointsAreLookedAt() {
        assertEquals("", read("\u200b".repeat(MOST) + "a"))
        assertEquals("a", read("\u200b".repeat(MOST - 1) + "a\uD83D\uDE00"))
        assertEquals("\uD83D\uDE00", read("\u200b".repeat(MOST - 1) + "\uD83D\uDE00a"))
    }

    @Test
    fun aMillionCharactersOfAnyShapeAreRead() {
        // Some seconds each if the work grew with the square of the length.
        for (shape in listOf("<", "[", "](", "*a ", "a . ", ". ", "1", "\uD834\uDD6D\uD834\uDD65")) {
            assertEquals(shape, true, read(shape.repeat(1_000_000 / shape.length)).length <= LIMIT)
        }
    }

    private companion object {
        const val LIMIT = 3_328
        const val MOST = 1 shl 19
        const val REQUEST = " Where is my parcel?"
        val SHAPES = listOf(
            " ", ".", " .", "\n\n", "a", "\uD83D\uDE00", "\u200b", "\u0591", "a\u200b", "<b>", "<!-- x -->", "&#32;", "&nbsp;",
            "%20", "\\u0020", "](" + "x".repeat(200) + ")", "1", "e\u0301", "- ! ", "\uD834\uDD65", "\u0301",
        )
    }
}
