package org.retveclite

import org.json.JSONArray
import org.json.JSONObject
import java.io.InputStream

/** `golden.json`, written by export: texts, code points, and the probabilities that a `.tflite` or a `.retvec` ([engine]) must give. */
class Golden(stream: InputStream, engine: Boolean = false) {
    class Case(
        val name: String,
        val text: String?,
        val codePoints: IntArray,
        private val probabilities: JSONObject,
        private val labels: JSONObject,
    ) {
        fun probabilities(recipe: String): FloatArray = probabilities.getJSONArray(recipe).let { list ->
            FloatArray(list.length()) { list.getDouble(it).toFloat() }
        }

        /** Whether the tolerance leaves only one answer. */
        fun hasLabel(recipe: String): Boolean = labels.has(recipe)

        /** All labels of a text that may have several. */
        fun labels(recipe: String): List<String> = labels.getJSONArray(recipe).let { list -> List(list.length(), list::getString) }

        /** The answer; null for none of the labels. */
        fun label(recipe: String): String? = if (labels.isNull(recipe)) null else labels.getString(recipe)
    }

    private val json = JSONObject(stream.use { it.readBytes().decodeToString() })

    val labels: List<String> = json.getJSONArray("labels").let { list -> List(list.length(), list::getString) }

    /** A case has no text if no Kotlin string has its code points, such as negative ones. */
    val cases: List<Case> = json.getJSONArray("cases").let { list -> List(list.length()) { case(list.getJSONObject(it)) } }

    /** Texts that are read in windows. Their [Case.codePoints] are not told. */
    val long: List<Case> = json.getJSONArray("long").let { list -> List(list.length()) { case(list.getJSONObject(it)) } }

    /** The recipe of the exported file, and the tolerance of its probabilities. */
    val recipe: String = json.getJSONObject("tolerance").keys().asSequence()
        .single { if (engine) it.startsWith("engine-") else !it.startsWith("engine-") && !it.startsWith("coreml-") }
    val tolerance: Float = json.getJSONObject("tolerance").getDouble(recipe).toFloat()

    private fun case(json: JSONObject) = Case(
        json.getString("name"),
        if (json.isNull("text")) null else json.getString("text"),
        json.optJSONArray("codepoints")?.toIntArray() ?: IntArray(0),
        json.getJSONObject("probabilities"),
        json.optJSONObject("labels") ?: JSONObject(),
    )

    private fun JSONArray.toIntArray() = IntArray(length()) { getInt(it) }
}
