package org.retveclite.demo

import org.retveclite.TextClassifier
import java.text.NumberFormat
import java.util.Locale

/** The probabilities of a text and how long they took, ready to be shown. */
class Answer(val labels: List<String>, val probabilities: FloatArray, val nanos: Long) {
    /** Index of the most probable label. */
    val top: Int = probabilities.indices.maxByOrNull { probabilities[it] } ?: error("Expected at least one label.")

    val millis: Double get() = nanos / 1e6
}

/** Classifies on the thread that calls, with a clock around the call. */
fun TextClassifier.answer(text: String): Answer {
    val probabilities = FloatArray(labels.size)
    val start = System.nanoTime()
    classify(text, probabilities)
    return Answer(labels, probabilities, System.nanoTime() - start)
}

/** "one_time_code" reads "one time code". */
fun readable(label: String): String = label.replace('_', ' ')

fun percent(probability: Float, locale: Locale): String =
    NumberFormat.getPercentInstance(locale).format(probability.toDouble())
