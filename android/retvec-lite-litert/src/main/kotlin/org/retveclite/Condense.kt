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

    /** How many gaps of each kind a spread word has: rule 0e leaves twenty signs in a gap, with three separators around each. */
    private val gaps = IntArray(2 * (MOST_OF_GAP + (MOST_OF_GAP + 1) * MOST_SEPARATORS) + 2)

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
            dropRepeats(0)
            dropSeparators()
            if (isAll || count >= limit + SPARE) break
            most *= 4
        }
        count = minOf(count, limit)
        joinLetters()
        narrowGaps()
        for (script in TWINNED) useOwnLetters(script)
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
            if (kinds and (IGNORED or MARK) == 0 && !isOptional(point)) {
                letter = point
                marks = 0
            }
            kinds and IGNORED == 0 && !isOptional(point) && (kinds and MARK == 0 || isOfOneScript(letter, point) && marks++ < MOST_MARKS)
        }
    }

    /** Rule 0e, as far as signs go. */
    private fun dropSigns() {
        length = count
        count = 0
        var at = 0
        while (at < length) {
            val end = behindGap(at)
            val isFull = signs(at, end) > MOST_OF_GAP
            var rows = 0
            while (at < end) {
                val next = behind(at, end - at) { isSign(it) }
                if (next == at) {
                    points[count++] = points[at++]
                    continue
                }
                val kept = if (isFull && rows > 0) at else if (next - at > MOST_SIGNS) at + 1 else next
                rows++
                for (place in at until kept) points[count++] = points[place]
                at = next
            }
            if (at < length) points[count++] = points[at++]
        }
    }

    /** Returns how many signs are left in a gap, of each row with too many the first. */
    private fun signs(start: Int, end: Int): Int {
        var signs = 0
        var at = start
        while (at < end) {
            val next = behind(at, end - at) { isSign(it) }
            signs += if (next - at > MOST_SIGNS) 1 else next - at
            at = next + 1
        }
        return signs
    }

    /** Rule 0e, as far as letters go, from a place on: those behind two like them are dropped, but in short words and codes. */
    private fun dropRepeats(start: Int) {
        length = count
        count = start
        var at = start
        while (at < length) {
            val end = behind(at, length) { !isGap(it) }
            val stays = end - at <= LONGEST_SHORT || end - at <= LONGEST_CODE && every(at, end) { isCodeLetter(it) } ||
                end - at <= LONGEST_NUMBER && !every(at, end) { !isDigit(it) }
            var last = NONE
            var alike = 0
            while (at < end) {
                val point = points[at++]
                alike = if (point == last) alike + 1 else 1
                last = point
                if (stays || alike <= MOST_ALIKE || isDigit(point)) points[count++] = point
            }
            if (at < length) points[count++] = points[at++]
        }
    }

    /** Rule 0e, as far as separators go. */
    private fun dropSeparators() {
        var separators = 0
        keep { point ->
            separators = if (isSeparator(point)) separators + 1 else 0
            separators <= MOST_SEPARATORS
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
        var letters = if (isDigit(points[start])) 0 else 1
        var end = start + 1
        var next = behindGap(end)
        while (next < length && isSingle(next)) {
            gaps[gap(end, next)]++
            if (!isDigit(points[next])) letters++
            end = next + 1
            next = behindGap(end)
        }
        var commonest = 0
        forEachGap(start, end) { gap, _ -> if (gaps[gap] > gaps[commonest]) commonest = gap }
        if (letters >= LEAST_SPREAD && gaps[commonest] >= LEAST_GAPS) {
            val first = count
            points[count++] = letter(points[start])
            forEachGap(start, end) { gap, single ->
                if (gap != commonest) points[count++] = ' '.code
                points[count++] = letter(points[single])
            }
            val whole = length
            dropRepeats(first)
            length = whole
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

    /** Rule 0g. */
    private fun useOwnLetters(script: Twinned) {
        if (every(0, count) { it !in script.range }) return
        length = count
        var found = 0
        forEachWord { at, end -> found += ownLetters(script, at, end, 2) }
        if (found < LEAST_OWN) return
        forEachWord { start, end ->
            if (!every(start, end) { it !in script.range } && ownLetters(script, start, end, 1) >= 0) {
                for (at in start until end) points[at] = script.ownFor(points[at])
            }
        }
    }

    /** Returns how many letters of a word tell of a script, with some less for each that tells of another. */
    private fun ownLetters(script: Twinned, start: Int, end: Int, weight: Int): Int {
        if (every(start, end) { it !in script.range }) return 0
        var found = 0
        for (at in start until end) {
            if (script.tells(points[at])) found++
            if (script.tellsOthers(points[at])) found -= weight
        }
        return found
    }

    private inline fun forEachWord(act: (start: Int, end: Int) -> Unit) {
        var at = 0
        while (at < length) {
            val end = behind(at, length) { !isGap(it) }
            act(at, end)
            at = end + 1
        }
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

/** A script whose letters Latin ones are written for: see [TWINS]. */
private class Twinned(listed: IntArray) {
    val range = listed[0]..listed[1]
    private val alike = listed[2]
    private val letters = (listed.size - 3) / 2
    private val latin = listed.copyOfRange(3, 3 + letters)
    private val own = listed.copyOfRange(3 + letters, listed.size)

    fun tells(point: Int): Boolean = point in range && own.indexOf(point) !in 0 until alike

    fun tellsOthers(point: Int): Boolean = when (point) {
        in range -> false
        in GREEK_TO_ARMENIAN -> true
        else -> (point in 'A'.code..'Z'.code || point in 'a'.code..'z'.code) && latin.indexOf(point) !in 0 until alike
    }

    fun ownFor(point: Int): Int = latin.indexOf(point).let { if (it < 0) point else own[it] }
}

private val TWINNED = TWINS.removeSuffix(" 0").split(" 0 ").map { Twinned(numbers(it)) }.toTypedArray()
private val GREEK_TO_ARMENIAN = 0x370..0x58F
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
private const val MOST_SIGNS = 14
private const val MOST_OF_GAP = 20
private const val MOST_ALIKE = 2
private const val LONGEST_SHORT = 4
private const val LONGEST_CODE = 8
private const val LONGEST_NUMBER = 16
private const val LEAST_SPREAD = 4
private const val LEAST_GAPS = 3
private const val LEAST_OWN = 3
private const val MOST_SEPARATORS = 3
