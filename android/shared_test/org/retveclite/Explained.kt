package org.retveclite

import org.json.JSONArray
import org.json.JSONObject
import org.junit.Assert.assertEquals
import org.junit.Assert.assertTrue
import java.io.File

/** Compares what words of texts count with golden/explained.json, whose spans are in code points. `file` is one of golden/. */
fun checkExplanations(file: File, explain: (text: String, label: String?) -> List<Span>) {
    val golden = JSONObject(File("../../golden/explained.json").readText())
    val tolerance = golden.getJSONObject("tolerance").getDouble(".${file.extension}").toFloat()
    val cases = golden.getJSONArray("cases").let { list -> List(list.length(), list::getJSONObject) }
    assertTrue(cases.size > 40)
    for (case in cases) {
        val text = case.getString("text")
        fun JSONArray.unit(at: Int) = text.offsetByCodePoints(0, getInt(at))
        val spans = case.getJSONArray("spans").let { list -> List(list.length(), list::getJSONArray) }
        val weights = case.getJSONObject("weights").getJSONArray(file.nameWithoutExtension)
        val found = explain(text, if (case.isNull("label")) null else case.getString("label"))
        assertEquals(text, spans.map { it.unit(0) to it.unit(1) }, found.map { it.start to it.end })
        for ((place, span) in found.withIndex()) assertEquals(text, weights.getDouble(place).toFloat(), span.weight, tolerance)
    }
}
