package org.retveclite

import org.json.JSONArray
import org.json.JSONObject
import org.junit.Assert.assertArrayEquals
import org.junit.Assert.assertEquals
import org.junit.Assert.assertTrue
import org.junit.Test
import java.io.File

class WindowsTest {
    private val cases = File("../../tests/data/windows.json")
        .let { JSONObject(it.readText()) }

    private fun <T> each(key: String, get: (JSONArray, Int) -> T): List<T> =
        cases.getJSONArray(key).let { list -> List(list.length()) { get(list, it) } }.also { assertTrue(it.size > 4) }

    private fun JSONArray.floats() = FloatArray(length()) { getDouble(it).toFloat() }

    private fun windows(text: String, maxChars: Int): List<String> {
        val windows = Windows(maxChars)
        windows.read("a text before that is longer than <b>this</b> one ".repeat(9))
        windows.read(text)
        return generateSequence {
            if (!windows.next()) return@generateSequence null
            IntArray(maxChars + 1) { 7 }.also(windows::copyInto).let { String(it, 0, windows.count) }
        }.toList().also { assertTrue(windows.isLast) }
    }

    @Test
    fun windowsAreThoseOfPython() {
        for (case in each("cut", JSONArray::getJSONArray)) {
            val expected = case.getJSONArray(2).let { list -> List(list.length(), list::getString) }
            assertEquals(case.toString(), expected, windows(case.getString(1), case.getInt(0)))
        }
    }

    @Test
    fun noMoreIsReadThanInPython() {
        for (case in each("limits", JSONArray::getJSONArray)) assertEquals(case.getInt(1), Windows(case.getInt(0)).limit)
    }

    @Test
    fun whatIsLeftOfATextIsCut() {
        assertEquals(listOf("Hello again!!!!", "!!!!!!!! Where", "is my parcel?"), windows("<p>Hello  again!!!!!!!!!!!!</p>" + " .".repeat(99) + " Where is my parcel?", 20))
    }

    @Test
    fun halfAMillionCodePointsAreLookedAt() {
        val nothing = "\u200b".repeat((1 shl 19) - 1)
        assertEquals(listOf("a"), windows("${nothing}a\uD83D\uDE00", 20))
        assertEquals(listOf("\uD83D\uDE00"), windows("$nothing\uD83D\uDE00a", 20))
        assertEquals(listOf(""), windows("\u200b${nothing}a", 20))
    }

    @Test
    fun probabilitiesAreCombinedAsInPython() {
        for (case in each("combine", JSONArray::getJSONObject)) {
            val expected = case.getJSONArray("text").floats()
            val shares = case.optJSONArray("shares")?.let { list -> DoubleArray(list.length(), list::getDouble) } ?: DoubleArray(3) { 1 / 3.0 }
            val combined = Combined(expected.size, case.optInt("unknown", -1), case.getBoolean("several"), shares)
            combined.add(floatArrayOf(9f, 9f, 9f))
            combined.clear()
            for (row in case.getJSONArray("windows").let { list -> List(list.length(), list::getJSONArray) }) combined.add(row.floats())
            assertArrayEquals(case.toString(), expected, combined.copyInto(FloatArray(expected.size)), 1e-6f)
        }
    }

    @Test
    fun windowsThatDoNotCountDoSoWhereAllAreSuch() {
        fun combined(vararg counts: Boolean): Float {
            val combined = Combined(2, -1, several = true, shares = doubleArrayOf(0.5, 0.5))
            counts.forEachIndexed { index, counts -> combined.add(floatArrayOf(0.1f * (index + 1), 0f), counts) }
            return combined.copyInto(FloatArray(2))[0]
        }
        assertEquals(0.1f, combined(true, false, false), 0f)
        assertEquals(0.2f, combined(false, true, false), 0f)
        assertEquals(0.2f, combined(true, true, false), 0f)
        assertEquals(0.3f, combined(false, false, false), 1e-6f)
    }
}
