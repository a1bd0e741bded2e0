package org.retveclite.demo

import org.retveclite.Span
import org.retveclite.TextClassifier
import org.retveclite.explain
import java.text.NumberFormat
import java.util.Locale

/**
 * The probabilities of a text, which of the labels it has (by index, most probable first), how long the model took, and how much
 * each of its words speaks for the most probable label.
 */
class Answer(
    val text: String,
    val labels: List<String>,
    val probabilities: FloatArray,
    val chosen: List<Int>,
    val nanos: Long,
    val words: List<Span>,
) {
    /** Whether the text belongs to none of the labels. */
    val isUnknown: Boolean get() = chosen.isEmpty()

    /** Index of the most probable label. */
    val top: Int = probabilities.indices.maxByOrNull { probabilities[it] } ?: error("There are no labels.")

    val millis: Double get() = nanos / 1e6
}

/** Classifies on the calling thread and measures the time of that, then explains the label. */
fun TextClassifier.answer(text: String): Answer {
    val probabilities = FloatArray(labels.size)
    val start = System.nanoTime()
    classify(text, probabilities)
    val nanos = System.nanoTime() - start
    return Answer(text, labels, probabilities, answers(text, probabilities), nanos, explain(text))
}

/** Returns a label for people: "one_time_code" becomes "one time code". */
fun readable(label: String): String = label.replace('_', ' ')

fun percent(probability: Float, locale: Locale): String =
    NumberFormat.getPercentInstance(locale).format(probability.toDouble())
