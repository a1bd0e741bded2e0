package org.retveclite

import java.text.Normalizer
import java.text.Normalizer.Form.NFC
import kotlin.math.sqrt

/**
 * The code points of a text, cut into windows of at most [maxChars] that end at words: "Long texts" in docs/contract.md.
 *
 * Call [read], then [next] until it returns false. Nothing is allocated but for the longest text so far.
 */
internal class Windows(private val maxChars: Int, private val contractVersion: Int) {
    /** How many code points of a text, as it is given, are read at most. */
    val limit: Int = if (contractVersion == 1) maxChars else maxOf(MOST_DECOMPOSED * maxChars, minOf(32 * maxChars, 16_384))
    private var points = IntArray(maxChars)
    private var at = 0
    private var end = 0
    private var isFirst = true

    /** The length of the window. */
    var count = 0
        private set

    /** The spaces in the window. */
    var blanks = 0
        private set

    /** Reads the composed text, unpaired surrogates included: the graph cleans them. */
    fun read(given: CharSequence) {
        val most = maxOf(limit, MOST_DECOMPOSED * maxChars)
        val isLong = given.length > most && Character.codePointCount(given, 0, given.length) > most
        var stop = if (isLong) Character.offsetByCodePoints(given, 0, most) else given.length
        var text = given
        if (!staysAsItIs(given, stop)) {
            text = composed(if (isLong) given.subSequence(0, stop) else given)
            stop = text.length
        }
        var unit = 0
        at = 0
        end = 0
        isFirst = true
        while (unit < stop && (contractVersion > 1 || end < maxChars)) {
            if (end == points.size) points = points.copyOf(2 * end)
            points[end] = Character.codePointAt(text, unit)
            unit += Character.charCount(points[end++])
        }
        if (end <= maxChars) return
        while (end > 0 && isSeparator(points[end - 1])) end--
        skip()
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
        blanks = 0
        for (index in at until at + count) if (points[index] == ' '.code) blanks++
        return true
    }

    /** Whether there is no window behind this one. */
    val isLast: Boolean get() = at + count == end

    fun copyInto(input: IntArray) {
        points.copyInto(input, 0, at, at + count)
        input.fill(0, count)
    }

    private fun skip() {
        while (at < end && isSeparator(points[at])) at++
    }

    private fun windowLength(left: Int): Int {
        val parts = (left + maxChars - 1) / maxChars
        val length = (left + parts - 1) / parts
        var found = 0
        for (turn in 0..maxChars - (maxChars + 1) / 2) {
            val long = if (length + turn <= maxChars) length + turn else maxChars - turn
            if (!isSeparator(points[at + long])) continue
            if (isSentenceEnd(points[at + long - 1])) return long
            if (found == 0) found = long
        }
        return if (found == 0) length else found
    }
}

/** Whether words end here: at the padding, and at what has the property White_Space, as the contract says. */
internal fun isSeparator(point: Int) = when (point) {
    0, in 0x09..0x0D, 0x20, 0x85, 0xA0, 0x1680, in 0x2000..0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000 -> true
    else -> false
}

private fun isSentenceEnd(point: Int) = point == '.'.code || point == '!'.code || point == '?'.code

/** What the windows of a text say together: "Combine" in docs/contract.md. [unknown] is the label that is never the best one. */
internal class Combined(size: Int, private val unknown: Int, private val several: Boolean) {
    private val sums = DoubleArray(size)
    private var weights = 0.0

    fun clear() {
        sums.fill(0.0)
        weights = 0.0
    }

    fun add(probabilities: FloatArray) {
        var best = java.lang.Float.MIN_NORMAL.toDouble()
        for (label in sums.indices) if (label != unknown) best = maxOf(best, probabilities[label].toDouble())
        val weight = best * best * best * best
        weights += weight
        for (label in sums.indices) {
            val value = probabilities[label].toDouble()
            sums[label] = if (several) maxOf(sums[label], value) else sums[label] + weight * value
        }
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

/** A character that is one code point in composed form has at most so many in decomposed form. */
private const val MOST_DECOMPOSED = 4

private fun composed(text: CharSequence): CharSequence =
    if (Normalizer.isNormalized(text, NFC)) text else Normalizer.normalize(text, NFC)

/** Whether composing surely leaves a text up to [end] as it is: most texts need no call that allocates. */
private fun staysAsItIs(text: CharSequence, end: Int): Boolean {
    // UTF-16 units below U+0300, and emoji.
    for (at in 0 until end) if (!(text[at] < '\u0300' || text[at] in '\uD83C'..'\uD83E' || text[at].isLowSurrogate())) return false
    return true
}
