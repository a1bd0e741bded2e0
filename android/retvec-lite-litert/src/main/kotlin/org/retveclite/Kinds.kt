package org.retveclite

/** Returns what the contract says about a code point, such as [SEPARATOR] or [MARK]: see [KINDS]. */
internal fun kindsOf(point: Int): Int {
    if (point < LOW.size) return LOW[point]
    val place = CHANGES.binarySearch(point shl 8 or 0xFF)
    return CHANGES[if (place < 0) -place - 2 else place] and 0xFF
}

/** Whether words end here: at the padding, and at what has the property White_Space, as the contract says. */
internal fun isSeparator(point: Int): Boolean = kindsOf(point) and SEPARATOR != 0

internal fun isSign(point: Int): Boolean = kindsOf(point) and SIGN != 0

/** Whether a code point is one of those between words: a separator or a sign. */
internal fun isGap(point: Int): Boolean = kindsOf(point) and (SEPARATOR or SIGN) != 0

/** Whether a mark may stand on a letter. */
internal fun isOfOneScript(letter: Int, mark: Int): Boolean {
    if (letter shr 7 == mark shr 7) return true
    for (at in SCRIPT_EDGES.indices step 2) {
        if (minOf(letter, mark) >= SCRIPT_EDGES[at] && maxOf(letter, mark) <= SCRIPT_EDGES[at + 1]) return true
    }
    return false
}

internal fun numbers(listed: String): IntArray = listed.split(' ').map { it.toInt(16) }.toIntArray()

private val CHANGES = numbers(KINDS)
private val SCRIPT_EDGES = numbers(SCRIPTS)

/** The kinds of the code points that most texts consist of. */
private val LOW = IntArray(0x300) { point -> CHANGES.last { it shr 8 <= point } and 0xFF }
