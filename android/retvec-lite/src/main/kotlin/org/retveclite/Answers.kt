package org.retveclite

import java.io.IOException

/**
 * The label of a text, null if it belongs to none, and the probability of the most probable label; and where a [Memory] answered, the
 * [taught] text by which it did.
 */
data class Prediction @JvmOverloads constructor(val label: String?, val probability: Float, val taught: String? = null) {
    override fun hashCode() = 31 * label.hashCode() + probability.toRawBits() // Float.hashCode is not there in API 23.
}

/**
 * A part of a text, `text.substring(start, end)`, and how much it speaks for a label: by how much the natural logarithm of the
 * label's probability falls without it. Below 0, it speaks against the label.
 */
class Span(val start: Int, val end: Int, val weight: Float)

/** The file is damaged, was not exported by retvec-lite, or follows another contract version. The message says which. */
class UnsupportedModelException(message: String, cause: Throwable? = null) : IOException(message, cause)
