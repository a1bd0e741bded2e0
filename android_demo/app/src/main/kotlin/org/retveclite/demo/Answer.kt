package org.retveclite.demo

import org.retveclite.TextClassifier
import java.text.NumberFormat
import java.util.Locale

/** The probabilities of a text, whether it belongs to none of the labels, and how long the model took. */
class Answer(val labels: List<String>, val probabilities: FloatArray, val isUnknown: Boolean, val nanos: Long) {
    /** Index of the most probable label. */
    val top: Int = probabilities.indices.maxByOrNull { probabilities[it] } ?: error("There are no labels.")

    val millis: Double get() = nanos / 1e6
}

/** Classifies on the calling thread and measures the time. */
fun TextClassifier.answer(text: String): Answer {
    val probabilities = FloatArray(labels.size)
    val start = System.nanoTime()
    classify(text, probabilities)
    val nanos = System.nanoTime() - start
    return Answer(labels, probabilities, isUnknown(text, probabilities), nanos)
}

/** Returns a label for people: "one_time_code" becomes "one time code". */
fun readable(label: String): String = label.replace('_', ' ')

fun percent(probability: Float, locale: Locale): String =
    NumberFormat.getPercentInstance(locale).format(probability.toDouble())
