package org.retveclite

import kotlin.math.abs
import kotlin.math.ln

/** Code points that are answered again to explain one text, at most, and spans that one is divided into: as engine/explain.c does. */
private const val ANSWERED = 1 shl 18
private const val SPLIT = 4

/**
 * Tells how much each word of what is read of a text speaks for a label by its place, or for the most probable one. Of a long text, spans of
 * many words come first, and then, again and again, those within the span that counts most.
 */
internal fun explain(text: String, readLimit: Int, maxChars: Int, label: Int?, classify: (String) -> FloatArray): List<Span> {
    val length = minOf(text.codePointCount(0, text.length), readLimit)
    val read = text.take(text.offsetByCodePoints(0, length))
    val probabilities = classify(read)
    val place = label ?: probabilities.indices.maxByOrNull { probabilities[it] } ?: return emptyList()
    // A probability may be rounded to 0.
    fun log(values: FloatArray) = ln(maxOf(values[place], java.lang.Float.MIN_NORMAL))
    val whole = log(probabilities)
    fun weighed(parts: List<Part>): Pair<List<Part>, Span> {
        val start = parts.first().first
        val end = parts.last().second
        return parts to Span(start, end, whole - log(classify(leaveOut(read, start, end, length > maxChars))))
    }
    val parts = TextReader.parts(read)
    val most = ANSWERED / maxOf(length, 1)
    val found = divide(parts, if (parts.size <= most) parts.size else maxOf(1, most / SPLIT)).map(::weighed).toMutableList()
    var answers = found.size
    while (answers + SPLIT <= most) {
        val best = found.indices.filter { found[it].first.size > 1 }.maxByOrNull { abs(found[it].second.weight) } ?: break
        val within = divide(found.removeAt(best).first, SPLIT).map(::weighed)
        found.addAll(best, within)
        answers += within.size
    }
    return found.map { it.second }
}

private typealias Part = Pair<Int, Int>

/** Divides parts into [count] groups of as many each; into less where there are fewer parts. */
private fun divide(parts: List<Part>, count: Int): List<List<Part>> {
    val groups = minOf(count, parts.size)
    return List(groups) { parts.subList(it * parts.size / groups, (it + 1) * parts.size / groups) }
}

/**
 * Returns a text without a part. A blank stands in its place, so that its neighbours do not become one word; in a text that is
 * read in windows as many blanks as it had characters, so that other windows shift less.
 */
internal fun leaveOut(text: String, start: Int, end: Int, inWindows: Boolean = false): String = if (inWindows) {
    text.substring(0, start) + " ".repeat(text.codePointCount(start, end)) + text.substring(end)
} else {
    text.substring(0, start).trimEnd { TextReader.isSeparator(it.code) } + " " + text.substring(end).trimStart { TextReader.isSeparator(it.code) }
}
