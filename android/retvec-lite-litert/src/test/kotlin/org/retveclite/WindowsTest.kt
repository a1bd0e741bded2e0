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
        windows.read("a text before that is longer than this one ".repeat(9))
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
    fun probabilitiesAreCombinedAsInPython() {
        for (case in each("combine", JSONArray::getJSONObject)) {
            val expected = case.getJSONArray("text").floats()
            val combined = Combined(expected.size, case.optInt("unknown", -1), case.getBoolean("several"))
            combined.add(floatArrayOf(9f, 9f, 9f))
            combined.clear()
            for (row in case.getJSONArray("windows").let { list -> List(list.length(), list::getJSONArray) }) combined.add(row.floats())
            assertArrayEquals(case.toString(), expected, combined.copyInto(FloatArray(expected.size)), 1e-6f)
        }
    }
}
