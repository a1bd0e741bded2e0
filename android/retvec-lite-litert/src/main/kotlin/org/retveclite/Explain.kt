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
    val parts = findParts(read)
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

/** Returns where the parts of a text that are left out one by one start and end: its words, or pieces of them. */
internal fun findParts(text: String): List<Pair<Int, Int>> {
    val runs = findRuns(text)
    val whole = runs.flatMap { if (it.script == Script.SPACED) it.cut(Int.MAX_VALUE) else it.cut(it.script.length) }
    return if (whole.size > FEW) whole else runs.flatMap { it.cut(it.script.length) }
}

/**
 * Returns a text without a part. A blank stands in its place, so that its neighbours do not become one word; in a text that is
 * read in windows as many blanks as it had characters, so that other windows shift less.
 */
internal fun leaveOut(text: String, start: Int, end: Int, inWindows: Boolean = false): String = if (inWindows) {
    text.substring(0, start) + " ".repeat(text.codePointCount(start, end)) + text.substring(end)
} else {
    text.substring(0, start).trimEnd { isSeparator(it.code) } + " " + text.substring(end).trimStart { isSeparator(it.code) }
}

/** How a run of characters is cut: into parts of [length] characters at most. */
private enum class Script(val length: Int) { SPACED(3), HAN(1), KANA(2), SEA(3), JOINING(3), SEPARATOR(0) }

/** An unbroken run of one script: where its characters start, and where the last one ends. */
private class Run(val script: Script, val edges: List<Int>) {
    /** Cuts the run into parts of similar length, of [most] characters at most. */
    fun cut(most: Int): List<Pair<Int, Int>> {
        val length = edges.size - 1
        val count = (length - 1) / most + 1
        return List(count) { edges[it * length / count] to edges[(it + 1) * length / count] }
    }
}

private fun findRuns(text: String): List<Run> {
    val runs = mutableListOf<Run>()
    var script = Script.JOINING
    var starts = mutableListOf<Int>()
    var at = 0
    while (at <= text.length) {
        val point = if (at < text.length) text.codePointAt(at) else 0
        val found = scriptOf(point)
        var joins = found == Script.JOINING || script == Script.JOINING
        if (starts.isNotEmpty() && (found == Script.SEPARATOR || (found != script && !joins))) {
            runs += Run(if (script == Script.JOINING) Script.SPACED else script, starts + at)
            script = Script.JOINING
            starts = mutableListOf()
            joins = false
        }
        if (found != Script.SEPARATOR) {
            // A mark belongs to the character before it; at the start of a word, to the one behind it.
            if (starts.isEmpty() || !joins) starts += at
            if (found != Script.JOINING) script = found
        }
        at += Character.charCount(point)
    }
    return runs
}

private fun scriptOf(point: Int): Script = when {
    isSeparator(point) -> Script.SEPARATOR
    point < 0x80 -> Script.SPACED
    kindsOf(point) and (MARK or IGNORED) != 0 -> Script.JOINING
    kindsOf(point) and HAN != 0 -> Script.HAN
    kindsOf(point) and KANA != 0 -> Script.KANA
    kindsOf(point) and SEA != 0 -> Script.SEA
    else -> Script.SPACED
}

/** Words of a text that are cut, because whole words would say little. */
private const val FEW = 2
