package org.retveclite.demo

import android.content.Context
import org.retveclite.Span
import org.retveclite.TextClassifier
import java.text.NumberFormat
import java.util.Locale

/**
 * The probabilities of a text, which of the labels it has (by index, most probable first), how long the model took and how large it is,
 * and how much each of its words speaks for the most probable label.
 */
class Answer(
    val text: String,
    val labels: List<String>,
    val probabilities: FloatArray,
    val chosen: List<Int>,
    val nanos: Long,
    val words: List<Span>,
    val modelBytes: Long,
) {
    /** Whether the text belongs to none of the labels. */
    val isUnknown: Boolean get() = chosen.isEmpty()

    /** Index of the most probable label. */
    val top: Int = probabilities.indices.maxByOrNull { probabilities[it] } ?: error("There are no labels.")

    val millis: Double get() = nanos / 1e6
}

/** A model in the assets. Measures the time of the probabilities, then explains the label. */
class AssetModel(context: Context, asset: String) : DemoModel.Model {
    private val classifier = TextClassifier(context, asset)
    private val bytes = context.assets.openFd(asset).use { it.length }
    private val probabilities = FloatArray(classifier.labels.size)

    override fun answer(text: String): Answer {
        val start = System.nanoTime()
        classifier.probabilities(text, probabilities)
        val nanos = System.nanoTime() - start
        val chosen = classifier.answers(text, probabilities)
        return Answer(text, classifier.labels, probabilities.clone(), chosen, nanos, classifier.explain(text), bytes)
    }

    override fun close() = classifier.close()
}

/** Returns a label for people: "one_time_code" becomes "one time code". */
fun readable(label: String): String = label.replace('_', ' ')

fun percent(probability: Float, locale: Locale): String =
    NumberFormat.getPercentInstance(locale).format(probability.toDouble())
