package org.retveclite

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

/**
 * The one exception of this library: its message says what is wrong and how to fix it, and its [code] does for programs.
 *
 * Codes are the names of engine/retvec_lite.h, such as `RVL_DAMAGED`, and: `NO_ENGINE`, the native library is missing or cannot be loaded;
 * `CANNOT_LOAD` and `CANNOT_SAVE`, a file that cannot be read or written, whose [cause] says why; `WRONG_CALL`, an argument, or a call that
 * the model cannot answer; `CLOSED`, a call after `close`; and those of an [Update], which begin with `UPDATE_`.
 */
class RetvecError(val code: String, message: String, cause: Throwable? = null) : RuntimeException(message, cause)
