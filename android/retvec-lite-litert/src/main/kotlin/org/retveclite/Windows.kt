package org.retveclite

import kotlin.math.exp
import kotlin.math.ln
import kotlin.math.sqrt

/**
 * The code points of a text, cut into windows of at most [maxChars] that end at words: "Long texts" in docs/contract.md.
 *
 * Call [read], then [next] until it returns false. Nothing is allocated but for the longest text so far.
 */
internal class Windows(private val maxChars: Int) {
    private val reader = TextReader(maxChars)

    /** How many code points of a text are read at most. */
    val limit: Int get() = reader.limit
    private val points = IntArray(limit)
    private var at = 0
    private var end = 0
    private var isFirst = true

    /** The length of the window. */
    var count = 0
        private set

    /** Reads a text, condensed. */
    fun read(given: CharSequence) {
        at = 0
        isFirst = true
        end = reader.read(given, points)
        if (end <= maxChars) return
        while (end > 0 && TextReader.isSeparator(points[end - 1])) end--
        skip()
    }

    /** Whether a text has one of some sorted code points, in what is read of it. */
    fun hasAny(given: CharSequence, wanted: IntArray): Boolean {
        read(given)
        return hasAny(wanted, at, end)
    }

    /** Whether the window counts: if it has one of some sorted code points, of which there are some. */
    fun counts(wanted: IntArray): Boolean = wanted.isEmpty() || hasAny(wanted, at, at + count)

    private fun hasAny(wanted: IntArray, start: Int, end: Int): Boolean {
        for (index in start until end) if (wanted.binarySearch(points[index]) >= 0) return true
        return false
    }

    /** Goes on to the next window; there is at least one. */
    fun next(): Boolean {
        if (!isFirst) {
            at += count
            count = 0
            skip()
            if (at == end) return false
        }
        isFirst = false
        count = if (end - at <= maxChars) end - at else windowLength(end - at)
        return true
    }

    /** Whether there is no window behind this one. */
    val isLast: Boolean get() = at + count == end

    fun copyInto(input: IntArray) {
        points.copyInto(input, 0, at, at + count)
        input.fill(0, count)
    }

    private fun skip() {
        while (at < end && TextReader.isSeparator(points[at])) at++
    }

    private fun windowLength(left: Int): Int {
        val parts = (left + maxChars - 1) / maxChars
        val length = (left + parts - 1) / parts
        var found = 0
        for (turn in 0..maxChars - (maxChars + 1) / 2) {
            val long = if (length + turn <= maxChars) length + turn else maxChars - turn
            if (!TextReader.isSeparator(points[at + long])) continue
            if (isSentenceEnd(points[at + long - 1])) return long
            if (found == 0) found = long
        }
        return if (found == 0) length else found
    }
}

private fun isSentenceEnd(point: Int) = point == '.'.code || point == '!'.code || point == '?'.code

/**
 * What the windows of a text say together: "Combine" in docs/contract.md. [unknown] is the label that is never the best one;
 * [shares] are how common the labels are.
 */
internal class Combined(size: Int, private val unknown: Int, private val several: Boolean, private val shares: DoubleArray) {
    private val sums = DoubleArray(size)
    private var weights = 0.0
    private var hasOneThatCounts = false

    fun clear() {
        sums.fill(0.0)
        weights = 0.0
        hasOneThatCounts = false
    }

    fun add(probabilities: FloatArray, counts: Boolean = true) {
        if (counts != hasOneThatCounts) {
            if (hasOneThatCounts) return
            clear()
            hasOneThatCounts = true
        }
        val weight = weight(probabilities)
        weights += weight
        for (label in sums.indices) {
            val value = probabilities[label].toDouble()
            sums[label] = if (several) maxOf(sums[label], value) else sums[label] + weight * value
        }
    }

    private fun weight(probabilities: FloatArray): Double {
        var said = 0.0
        for (label in sums.indices) {
            if (label == unknown) continue
            val value = maxOf(probabilities[label], java.lang.Float.MIN_NORMAL).toDouble()
            said += value * ln(value / shares[label])
        }
        return exp(2 * said)
    }

    fun copyInto(into: FloatArray): FloatArray {
        for (label in sums.indices) into[label] = (if (several) sums[label] else sums[label] / weights).toFloat()
        return into
    }
}

/** Scales a vector to length 1; zeros stay zeros. */
internal fun FloatArray.scale(): FloatArray {
    val norm = maxOf(sqrt(fold(0.0) { sum, value -> sum + value.toDouble() * value }), java.lang.Float.MIN_NORMAL.toDouble())
    for (index in indices) this[index] = (this[index] / norm).toFloat()
    return this
}
