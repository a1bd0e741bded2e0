package org.retveclite

import java.text.Normalizer
import java.text.Normalizer.Form.NFC

/**
 * What a person sees of a text: "Condensing" in docs/contract.md, rule by rule.
 *
 * All rules work in one array. In most of them a text only gets shorter, so what is ahead of a place and before it can still be read.
 * Nothing is allocated but for the longest text so far, names in markup, and texts that may have to be composed.
 */
internal class Condensed(private val limit: Int) {
    /** The text that [read] left: the first [count] code points. */
    var points = IntArray(FIRST)
        private set
    var count = 0
        private set

    /** How many code points there were before the rule at work. */
    private var length = 0

    private val markup = Markup()
    private val display = Display()

    /** How many gaps of each kind a spread word has: rule 0e leaves three rows of three signs in a gap, with three separators around each. */
    private val gaps = IntArray(2 * (MOST_SIGNS * MOST_SIGNS + (MOST_SIGNS + 1) * MOST_SEPARATORS) + 2)

    /** Reads a text: rule 0. */
    fun read(given: CharSequence) {
        // What is read comes from the start of most texts; a longer start changes nothing but its last code points.
        var most = limit + 2 * SPARE
        while (true) {
            val isAll = decode(given, minOf(most, MOST_GIVEN)) || most >= MOST_GIVEN
            count = markup.replace(points, count)
            compose()
            count = display.read(points, count)
            dropMarks()
            dropSigns()
            dropRepeats()
            if (isAll || count >= limit + SPARE) break
            most *= 4
        }
        count = minOf(count, limit)
        joinLetters()
        narrowGaps()
    }

    /** Takes the first code points of a text, unpaired surrogates as U+FFFD; returns whether these are all. */
    private fun decode(given: CharSequence, most: Int): Boolean {
        var unit = 0
        count = 0
        while (unit < given.length && count < most) {
            if (count == points.size) points = points.copyOf(2 * count)
            val point = Character.codePointAt(given, unit)
            unit += Character.charCount(point)
            points[count++] = if (point in 0xD800..0xDFFF) REPLACEMENT else point
        }
        return unit == given.length
    }

    /** Rule 0b. */
    private fun compose() {
        var row = 0
        keep { point ->
            row = if (kindsOf(point) and PILED != 0) row + 1 else 0
            row <= MOST_COMPOSED
        }
        if (every(0, count) { isComposed(it) }) return
        val text = String(points, 0, count)
        if (!Normalizer.isNormalized(text, NFC)) decode(Normalizer.normalize(text, NFC), Int.MAX_VALUE)
    }

    /** Rule 0d, and what is invisible. */
    private fun dropMarks() {
        var letter = NONE
        var marks = 0
        keep { point ->
            val kinds = kindsOf(point)
            if (kinds and (IGNORED or MARK) == 0) {
                letter = point
                marks = 0
            }
            kinds and IGNORED == 0 && (kinds and MARK == 0 || isOfOneScript(letter, point) && marks++ < MOST_MARKS)
        }
    }

    /** Rule 0e, as far as signs go. */
    private fun dropSigns() {
        length = count
        count = 0
        var at = 0
        while (at < length) {
            val end = behindGap(at)
            val most = if (rows(at, end) > MOST_SIGNS) 1 else MOST_SIGNS
            var rows = 0
            while (at < end) {
                val next = behind(at, end - at) { isSign(it) }
                if (next == at) {
                    points[count++] = points[at++]
                    continue
                }
                val kept = if (++rows > most) at else if (next - at > MOST_SIGNS) at + 1 else next
                for (place in at until kept) points[count++] = points[place]
                at = next
            }
            if (at < length) points[count++] = points[at++]
        }
    }

    /** Returns how many rows of signs there are in a gap. */
    private fun rows(start: Int, end: Int): Int {
        var rows = 0
        for (at in start until end) if (isSign(points[at]) && (at == start || isSeparator(points[at - 1]))) rows++
        return rows
    }

    /** Rule 0e, as far as repeats go. */
    private fun dropRepeats() {
        var last = NONE
        var lastButOne = NONE
        var separators = 0
        keep { point ->
            separators = if (isSeparator(point)) separators + 1 else 0
            val isRepeat = separators == 0 && point == last && point == lastButOne
            lastButOne = last
            last = point
            !isRepeat && separators <= MOST_SEPARATORS
        }
    }

    /** Rule 0f, as far as spread words go. */
    private fun joinLetters() {
        length = count
        count = 0
        var at = 0
        while (at < length) {
            if (isSingle(at)) at = joinFrom(at) else points[count++] = points[at++]
        }
    }

    /** Reads the singles in a row from one on, joins them if they are a spread word, and returns where they end. */
    private fun joinFrom(start: Int): Int {
        gaps.fill(0)
        var letters = if (Character.isDigit(points[start])) 0 else 1
        var end = start + 1
        var next = behindGap(end)
        while (next < length && isSingle(next)) {
            gaps[gap(end, next)]++
            if (!Character.isDigit(points[next])) letters++
            end = next + 1
            next = behindGap(end)
        }
        var commonest = 0
        forEachGap(start, end) { gap, _ -> if (gaps[gap] > gaps[commonest]) commonest = gap }
        if (letters > MOST_SIGNS && gaps[commonest] >= LEAST_GAPS) {
            points[count++] = letter(points[start])
            forEachGap(start, end) { gap, single ->
                if (gap != commonest) points[count++] = ' '.code
                points[count++] = letter(points[single])
            }
        } else {
            for (at in start until end) points[count++] = points[at]
        }
        return end
    }

    private inline fun forEachGap(start: Int, end: Int, act: (gap: Int, single: Int) -> Unit) {
        var at = start + 1
        while (at < end) {
            val next = behindGap(at)
            act(gap(at, next), next)
            at = next + 1
        }
    }

    /** Returns the kind of a gap: how many code points it has, and whether a sign is among them. */
    private fun gap(start: Int, end: Int): Int = 2 * (end - start) + if (every(start, end) { !isSign(it) }) 0 else 1

    /** Rule 0f, as far as separators go. */
    private fun narrowGaps() {
        var isBehindOne = true
        keep { point ->
            val isSecond = isBehindOne && isSeparator(point)
            isBehindOne = isSeparator(point)
            !isSecond
        }
        if (count > 0 && isSeparator(points[count - 1])) count--
    }

    /** Keeps some of the code points, which are asked for one by one. */
    private inline fun keep(isKept: (Int) -> Boolean) {
        length = count
        count = 0
        for (at in 0 until length) {
            val point = points[at]
            if (isKept(point)) points[count++] = point
        }
    }

    /** Returns where a run of code points ends for which a condition holds, of so many at most. */
    private inline fun behind(start: Int, most: Int, holds: (Int) -> Boolean): Int {
        var at = start
        while (at < length && at - start < most && holds(points[at])) at++
        return at
    }

    private inline fun every(start: Int, end: Int, holds: (Int) -> Boolean): Boolean {
        for (at in start until end) if (!holds(points[at])) return false
        return true
    }

    private fun behindGap(start: Int): Int = behind(start, length) { isGap(it) }

    private fun isSingle(at: Int): Boolean {
        val point = points[at]
        return (point < 0x1100 || point in 0x1E00..0x1FFF || point in REGIONAL) && kindsOf(point) and (SEPARATOR or SIGN or MARK) == 0 &&
            (at == 0 || isGap(points[at - 1])) && (at + 1 == length || isGap(points[at + 1]))
    }
}

/** Whether composing surely leaves a code point as it is among others like it: Latin letters, dashes, quotation marks, emoji. */
private fun isComposed(point: Int): Boolean =
    point < 0x300 || point in 0x2010..0x2027 || point in 0x1F000..0x1FAFF || point == REPLACEMENT

/** Returns the letter that a regional indicator stands for, or what else it is. */
private fun letter(point: Int): Int = if (point in REGIONAL) point - REGIONAL.first + 'A'.code else point

private val REGIONAL = 0x1F1E6..0x1F1FF
private const val NONE = -1
private const val FIRST = 256
private const val REPLACEMENT = 0xFFFD

/** Code points of a text that are looked at. */
private const val MOST_GIVEN = 1 shl 19

/** More than the code points that those ahead of them may change: markup, a line that is held, and composing makes three of one at most. */
private const val SPARE = 2048
private const val MOST_COMPOSED = 8
private const val MOST_MARKS = 5
private const val MOST_SIGNS = 3
private const val LEAST_GAPS = 3
private const val MOST_SEPARATORS = 3
