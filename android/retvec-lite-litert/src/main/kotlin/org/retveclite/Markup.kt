package org.retveclite

/** What is written for characters, and what is not shown of a text: rule 0a of "Condensing" in docs/contract.md. */
internal class Markup {
    private var points = IntArray(0)
    private var length = 0

    /** What stands for the markup that was found, or [NOTHING]. */
    private var shown = NOTHING

    /** How many of each sign of emphasis opened last, 0 if they have closed. */
    private val opened = IntArray(EMPHASIS.length)

    /** Replaces the markup in the first code points of an array by what it stands for; returns how many code points are left. */
    fun replace(text: IntArray, size: Int): Int {
        points = text
        length = size
        opened.fill(0)
        var count = 0
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
        return count
    }

    /** Returns how many code points the markup at a place takes, 0 for none, and leaves in [shown] what stands for it. */
    private fun markup(at: Int): Int = when (points[at]) {
        '%'.code -> percentEncoded(at)
        '\\'.code -> escape(at)
        '<'.code -> tag(at)
        '&'.code -> entity(at)
        '['.code, ']'.code -> link(at)
        '*'.code, '_'.code, '`'.code, '~'.code -> emphasis(at)
        else -> if (isDigit(points[at])) longNumber(at) else 0
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
        val end = behind(at, length) { isDigit(it) }
        return if (end - at >= LONG_NUMBER) shows(' '.code, end - at) else 0
    }

    private fun tag(at: Int): Int {
        val end = behind(at + 1) { it != '<'.code && it != '>'.code }
        if (peek(end) != '>'.code || end == at + 1) return 0
        val taken = end + 1 - at
        if (taken >= "<!---->".length && isAt(at, "<!--") && isAt(end - 2, "-->")) return shows(NOTHING, taken)
        val start = if (points[at + 1] == '/'.code) at + 2 else at + 1
        var behind = start
        while (isLetter(points[behind]) || behind > start && isAsciiDigit(points[behind])) behind++
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
        val end = behind(start, most) { if (isHex) hexDigit(it) >= 0 else if (isNumber) isAsciiDigit(it) else isLetter(it) }
        if (end == start || peek(end) != ';'.code) return 0
        val name = String(points, start, end - start)
        val point = if (isHex) name.toInt(16) else if (isNumber) name.toInt() else named(name)
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
            if (next == NOTHING || isGap(next) || isTakenBack(end) || !closes(end, points[at], size)) return 0
            opened[sign] = size
            return shows(NOTHING, size)
        }
        if (!mayClose(at, end)) return 0
        val isSame = opened[sign] == size
        opened[sign] = 0
        return if (isSame) shows(NOTHING, size) else 0
    }

    /** Whether an emphasis may close that stands here. */
    private fun mayClose(at: Int, end: Int): Boolean {
        val next = peek(end)
        return !isSeparator(points[at - 1]) && !isOneOf("([{\"'$EMPHASIS", points[at - 1]) &&
            (next == NOTHING || isSeparator(next) || isOneOf(".,;:!?)]}\"'", next))
    }

    /** Whether what opens with so many signs closes further on. */
    private fun closes(start: Int, sign: Int, size: Int): Boolean {
        var at = start
        while (at < length && at <= start + MOST_PEEKED) {
            val end = behind(at) { it == sign }
            if (end - at == size && mayClose(at, end)) return true
            at = end + 1
        }
        return false
    }

    /** Whether there is a backspace in a word. */
    private fun isTakenBack(at: Int): Boolean = behind(at) { !isSeparator(it) && !isBackspace(it) }.let { end ->
        end < at + MOST_PEEKED && end < length && isBackspace(points[end])
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

    private inline fun every(start: Int, end: Int, holds: (Int) -> Boolean): Boolean = behind(start, end - start, holds) == end

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
}

private fun isScalar(point: Int): Boolean = point <= Character.MAX_CODE_POINT && point !in 0xD800..0xDFFF

private fun isAsciiDigit(point: Int): Boolean = point in '0'.code..'9'.code

private fun isLetter(point: Int): Boolean = point in 'A'.code..'Z'.code || point in 'a'.code..'z'.code

private fun hexDigit(point: Int): Int = when (point) {
    in '0'.code..'9'.code -> point - '0'.code
    in 'A'.code..'F'.code -> point - 'A'.code + 10
    in 'a'.code..'f'.code -> point - 'a'.code + 10
    else -> -1
}

private fun isOneOf(signs: String, point: Int): Boolean = point < 0x80 && signs.indexOf(point.toChar()) >= 0

/** Returns the code point that a name stands for, 0 if there is none: behind each name is its code point. */
private fun named(name: String): Int {
    val place = NAMES.indexOf(name)
    return if (place >= 0 && place % 2 == 0) NAMES[place + 1].toInt(16) else 0
}

private val TAGS = INLINE.split(' ')
private val NAMES = ENTITIES.split(' ')

private const val EMPHASIS = "*_`~"
private const val NOTHING = -1
private const val MOST_PEEKED = 256
private const val LONG_NUMBER = 17
private const val LONGEST_TAG = 16
private const val MOST_EMPHASIS = 3
