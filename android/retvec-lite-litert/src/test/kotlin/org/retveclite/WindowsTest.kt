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

    private fun windows(text: String, maxChars: Int, version: Int = 2): List<String> {
        val windows = Windows(maxChars, version)
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
        for (case in each("limits", JSONArray::getJSONArray)) assertEquals(case.getInt(1), Windows(case.getInt(0), 2).limit)
    }

    @Test
    fun version1ReadsTheStart() {
        assertEquals(10, Windows(10, 1).limit)
        assertEquals(listOf("\u00e9".repeat(10)), windows("e\u0301".repeat(30), 10, version = 1))
    }

    @Test
    fun version3CutsWhatIsLeftOfAText() {
        assertEquals(listOf("Hello again!", "Where is my parcel?"), windows("<p>Hello  again!!!!!!</p>" + " .".repeat(99) + " Where is my parcel?", 20, version = 3))
    }

    @Test
    fun probabilitiesAreCombinedAsInPython() {
        for (case in each("combine", JSONArray::getJSONObject)) {
            val expected = case.getJSONArray("text").floats()
            val shares = case.optJSONArray("shares")?.let { list -> DoubleArray(list.length(), list::getDouble) }
            val combined = Combined(expected.size, case.optInt("unknown", -1), case.getBoolean("several"), shares)
            combined.add(floatArrayOf(9f, 9f, 9f))
            combined.clear()
            val rows = case.getJSONArray("windows")
            for (row in 0 until rows.length()) combined.add(rows.getJSONArray(row).floats(), case.optJSONArray("counts")?.getBoolean(row) ?: true)
            assertArrayEquals(case.toString(), expected, combined.copyInto(FloatArray(expected.size)), 1e-6f)
        }
    }
}
