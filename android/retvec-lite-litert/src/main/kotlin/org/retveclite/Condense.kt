package org.retveclite

import java.text.Normalizer
import java.text.Normalizer.Form.NFC

/**
 * What a person sees of a text: "Condensing" in docs/contract.md, rule by rule.
 *
 * All rules work in one array, in which a text only gets shorter, so what is ahead of a place and before it can still be read.
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

    /** What stands for the markup that was found, or [NOTHING]. */
    private var shown = NOTHING

    /** How many of each sign of emphasis opened last, 0 if they have closed. */
    private val opened = IntArray(EMPHASIS.length)

    /** How many gaps of each kind a spread word has: rule 0d leaves three rows of three signs in a gap, with three separators around each. */
    private val gaps = IntArray(2 * (MOST_SIGNS * MOST_SIGNS + (MOST_SIGNS + 1) * MOST_SEPARATORS) + 2)

    /** Reads a text: rule 0. */
    fun read(given: CharSequence) {
        // What is read comes from the start of most texts; a longer start changes nothing but its last code points.
        var most = limit + 2 * SPARE
        while (true) {
            val isAll = decode(given, minOf(most, MOST_GIVEN)) || most >= MOST_GIVEN
            readMarkup()
            compose()
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
            points[count++] = if (isScalar(point)) point else REPLACEMENT
        }
        return unit == given.length
    }

    /** Rule 0a. */
    private fun readMarkup() {
        opened.fill(0)
        length = count
        count = 0
        var at = 0
        while (at < length) {
            val taken = markup(at)
            if (taken == 0) {
                points[count++] = points[at++]
            } else {
                if (shown != NOTHING) points[count++] = shown
                at += taken
            }
        }
    }

    /** Returns how many code points the markup at a place takes, 0 for none, and leaves in [shown] what stands for it. */
    private fun markup(at: Int): Int = when (points[at]) {
        '%'.code -> percentEncoded(at)
        '\\'.code -> escape(at)
        in '0'.code..'9'.code -> longNumber(at)
        '<'.code -> tag(at)
        '&'.code -> entity(at)
        '['.code, ']'.code -> link(at)
        '*'.code, '_'.code, '`'.code, '~'.code -> emphasis(at)
        else -> 0
    }

    private fun shows(point: Int, taken: Int): Int {
        shown = point
        return taken
    }

    private fun percentEncoded(at: Int): Int {
        val first = byteAt(at)
        val size = when (first) {
            0x09, 0x0A, 0x0D, in 0x20..0x7F -> return shows(first, 3)
            in 0xC2..0xDF -> 2
            in 0xE0..0xEF -> 3
            in 0xF0..0xF4 -> 4
            else -> return 0
        }
        var point = first and (0x7F shr size)
        for (next in 1 until size) {
            val byte = byteAt(at + 3 * next)
            if (byte !in 0x80..0xBF) return 0
            point = point shl 6 or (byte and 0x3F)
        }
        val isShortest = size == 2 || point >= 1 shl (5 * size - 4)
        return if (isShortest && isScalar(point)) shows(point, 3 * size) else 0
    }

    private fun byteAt(at: Int): Int = if (peek(at) == '%'.code) hex(at + 1, 2) else -1

    private fun escape(at: Int): Int {
        val unit = unitAt(at)
        val next = if (unit in 0xD800..0xDBFF) unitAt(at + 6) else -1
        if (next in 0xDC00..0xDFFF) return shows(Character.toCodePoint(unit.toChar(), next.toChar()), 12)
        return if (unit >= 0 && isScalar(unit)) shows(unit, 6) else 0
    }

    private fun unitAt(at: Int): Int = if (isAt(at, "\\u")) hex(at + 2, 4) else -1

    private fun longNumber(at: Int): Int {
        if (at > 0 && isDigit(points[at - 1])) return 0
        var end = at + 1
        while (end < length && isDigit(points[end])) end++
        return if (end - at >= LONG_NUMBER) shows(' '.code, end - at) else 0
    }

    private fun tag(at: Int): Int {
        val end = behind(at + 1) { it != '<'.code && it != '>'.code }
        if (peek(end) != '>'.code || end == at + 1) return 0
        val taken = end + 1 - at
        if (taken >= "<!---->".length && isAt(at, "<!--") && isAt(end - 2, "-->")) return shows(NOTHING, taken)
        val start = if (points[at + 1] == '/'.code) at + 2 else at + 1
        var behind = start
        while (isLetter(points[behind]) || behind > start && isDigit(points[behind])) behind++
        if (behind - start !in 1..LONGEST_TAG) return 0
        val isEmpty = every(behind, end) { isSeparator(it) || it == '/'.code }
        val isBehindName = isSeparator(points[behind]) || points[behind] == '/'.code
        if (!isEmpty && (!isBehindName || every(behind, end) { it != '='.code })) return 0
        return shows(if (String(points, start, behind - start).lowercase() in TAGS) NOTHING else ' '.code, taken)
    }

    private fun entity(at: Int): Int {
        val isNumber = peek(at + 1) == '#'.code
        val isHex = isNumber && (isAt(at + 2, "x") || isAt(at + 2, "X"))
        val start = if (isHex) at + 3 else if (isNumber) at + 2 else at + 1
        val most = if (isNumber && !isHex) 7 else 6
        val end = behind(start, most) { if (isHex) hexDigit(it) >= 0 else if (isNumber) isDigit(it) else isLetter(it) }
        if (end == start || peek(end) != ';'.code) return 0
        val name = String(points, start, end - start)
        val point = if (isHex) name.toInt(16) else if (isNumber) name.toInt() else NAMED[name] ?: 0
        return if (point != 0 && isScalar(point)) shows(point, end + 1 - at) else 0
    }

    private fun link(at: Int): Int {
        if (points[at] == '['.code) {
            val end = behind(at + 1) { it != '['.code && it != ']'.code }
            return if (end > at + 1 && peek(end) == ']'.code && peek(end + 1) == '('.code) shows(NOTHING, 1) else 0
        }
        if (peek(at + 1) != '('.code) return 0
        val end = behind(at + 2) { it != '('.code && it != ')'.code && !isSeparator(it) }
        return if (end > at + 2 && peek(end) == ')'.code) shows(NOTHING, end + 1 - at) else 0
    }

    private fun emphasis(at: Int): Int {
        val sign = EMPHASIS.indexOf(points[at].toChar())
        val end = behind(at, MOST_EMPHASIS + 1) { it == points[at] }
        val size = end - at
        if (size > MOST_EMPHASIS || points[at] == '~'.code && size != 2) return 0
        val next = peek(end)
        if (at == 0 || isSeparator(points[at - 1]) || isOneOf("([{\"'", points[at - 1])) {
            if (next == NOTHING || isGap(next)) return 0
            opened[sign] = size
            return shows(NOTHING, size)
        }
        if (isOneOf(EMPHASIS, points[at - 1])) return 0
        if (next != NOTHING && !isSeparator(next) && !isOneOf(".,;:!?)]}\"'", next)) return 0
        val isSame = opened[sign] == size
        opened[sign] = 0
        return if (isSame) shows(NOTHING, size) else 0
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

    /** Rule 0c. */
    private fun dropMarks() {
        var letter = NOTHING
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

    /** Rule 0d, as far as signs go. */
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

    /** Rule 0d, as far as repeats go. */
    private fun dropRepeats() {
        var last = NOTHING
        var lastButOne = NOTHING
        var separators = 0
        keep { point ->
            separators = if (isSeparator(point)) separators + 1 else 0
            val isRepeat = separators == 0 && point == last && point == lastButOne
            lastButOne = last
            last = point
            !isRepeat && separators <= MOST_SEPARATORS
        }
    }

    /** Rule 0e, as far as spread words go. */
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
        points[count++] = points[start]
        if (letters > MOST_SIGNS && gaps[commonest] >= LEAST_GAPS) {
            forEachGap(start, end) { gap, single ->
                if (gap != commonest) points[count++] = ' '.code
                points[count++] = points[single]
            }
        } else {
            for (at in start + 1 until end) points[count++] = points[at]
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

    /** Rule 0e, as far as separators go. */
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

    /** Returns the code point at a place, [NOTHING] at the end of the text. */
    private fun peek(at: Int): Int = if (at < length) points[at] else NOTHING

    private fun isAt(at: Int, what: String): Boolean {
        for (index in what.indices) if (peek(at + index) != what[index].code) return false
        return true
    }

    /** Returns where a run of code points ends for which a condition holds, of so many at most. */
    private inline fun behind(start: Int, most: Int = MOST_PEEKED, holds: (Int) -> Boolean): Int {
        var at = start
        while (at < length && at - start < most && holds(points[at])) at++
        return at
    }

    private inline fun every(start: Int, end: Int, holds: (Int) -> Boolean): Boolean {
        for (at in start until end) if (!holds(points[at])) return false
        return true
    }

    /** Returns the number that hexadecimal digits at a place stand for, -1 if there are fewer. */
    private fun hex(at: Int, digits: Int): Int {
        var number = 0
        for (place in at until at + digits) {
            val digit = hexDigit(peek(place))
            if (digit < 0) return -1
            number = number shl 4 or digit
        }
        return number
    }

    private fun behindGap(start: Int): Int = behind(start, length) { isGap(it) }

    private fun isSingle(at: Int): Boolean {
        val point = points[at]
        return (point < 0x1100 || point in 0x1E00..0x1FFF) && kindsOf(point) and (SEPARATOR or SIGN or MARK) == 0 &&
            (at == 0 || isGap(points[at - 1])) && (at + 1 == length || isGap(points[at + 1]))
    }
}

private fun isSign(point: Int): Boolean = kindsOf(point) and SIGN != 0

private fun isGap(point: Int): Boolean = kindsOf(point) and (SEPARATOR or SIGN) != 0

/** Whether composing surely leaves a code point as it is among others like it: Latin letters, dashes, quotation marks, emoji. */
private fun isComposed(point: Int): Boolean =
    point < 0x300 || point in 0x2010..0x2027 || point in 0x1F000..0x1FAFF || point == REPLACEMENT

private fun isScalar(point: Int): Boolean = point <= Character.MAX_CODE_POINT && point !in 0xD800..0xDFFF

private fun isDigit(point: Int): Boolean = point in '0'.code..'9'.code

private fun isLetter(point: Int): Boolean = point in 'A'.code..'Z'.code || point in 'a'.code..'z'.code

private fun hexDigit(point: Int): Int = when (point) {
    in '0'.code..'9'.code -> point - '0'.code
    in 'A'.code..'F'.code -> point - 'A'.code + 10
    in 'a'.code..'f'.code -> point - 'a'.code + 10
    else -> -1
}

private fun isOneOf(signs: String, point: Int): Boolean = point < 0x80 && signs.indexOf(point.toChar()) >= 0

private val TAGS = INLINE.split(' ').toSet()
private val NAMED = ENTITIES.split(' ').chunked(2).associate { (name, point) -> name to point.toInt(16) }

private const val EMPHASIS = "*_`~"
private const val NOTHING = -1
private const val FIRST = 256
private const val REPLACEMENT = 0xFFFD

/** Code points of a text that are looked at. */
private const val MOST_GIVEN = 1 shl 19
private const val MOST_PEEKED = 256

/** More than the code points that those ahead of them may change: markup is this long, and composing makes three of one at most. */
private const val SPARE = 4 * MOST_PEEKED
private const val LONG_NUMBER = 17
private const val LONGEST_TAG = 16
private const val MOST_EMPHASIS = 3
private const val MOST_COMPOSED = 8
private const val MOST_MARKS = 5
private const val MOST_SIGNS = 3
private const val LEAST_GAPS = 3
private const val MOST_SEPARATORS = 3
