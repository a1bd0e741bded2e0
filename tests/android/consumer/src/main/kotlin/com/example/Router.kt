package com.example

import android.content.Context
import org.retveclite.Prediction
import org.retveclite.RetvecClassifier
import org.retveclite.TextClassifier
import java.io.Closeable
import java.io.File

/** What an app does with the engine. */
class Router(model: File) : Closeable {
    private val classifier = RetvecClassifier(model)

    fun probabilities(message: String): FloatArray = classifier.probabilities(message)

    fun labels(message: String): List<String?> = classifier.predictAll(message).map(Prediction::label)

    override fun close() = classifier.close()
}

/** The same on LiteRT: only compiled, because LiteRT needs a device. */
fun mostImportantWord(context: Context, message: String): String? = TextClassifier(context).use { classifier ->
    classifier.explain(message).maxByOrNull { it.weight }?.let { message.substring(it.start, it.end) }
}
