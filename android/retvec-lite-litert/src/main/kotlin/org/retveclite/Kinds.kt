package org.retveclite

/** Returns what the contract says about a code point, such as [SEPARATOR] or [MARK]: see [KINDS]. */
internal fun kindsOf(point: Int): Int {
    if (point < LOW.size) return LOW[point]
    val place = CHANGES.binarySearch(point shl 9 or 0x1FF)
    return CHANGES[if (place < 0) -place - 2 else place] and 0x1FF
}

/** Whether words end here: at the padding, and at what has the property White_Space, as the contract says. */
internal fun isSeparator(point: Int): Boolean = kindsOf(point) and SEPARATOR != 0

internal fun isSign(point: Int): Boolean = kindsOf(point) and SIGN != 0

/** Whether a code point is one of those between words: a separator or a sign. */
internal fun isGap(point: Int): Boolean = kindsOf(point) and (SEPARATOR or SIGN) != 0

internal fun isDigit(point: Int): Boolean = kindsOf(point) and DIGIT != 0

/** Whether a code point is what people leave out. */
internal fun isOptional(point: Int): Boolean = point >= OPTIONAL_EDGES[0] && areIn(OPTIONAL_EDGES, point, point)

internal fun isCodeLetter(point: Int): Boolean = areIn(CODE_LETTER_EDGES, point, point)

/** Whether a mark may stand on a letter. */
internal fun isOfOneScript(letter: Int, mark: Int): Boolean =
    letter shr 7 == mark shr 7 || areIn(SCRIPT_EDGES, minOf(letter, mark), maxOf(letter, mark))

private fun areIn(edges: IntArray, first: Int, last: Int): Boolean {
    for (at in edges.indices step 2) if (first >= edges[at] && last <= edges[at + 1]) return true
    return false
}

internal fun numbers(listed: String): IntArray = listed.split(' ').map { it.toInt(16) }.toIntArray()

private val CHANGES = numbers(KINDS)
private val SCRIPT_EDGES = numbers(SCRIPTS)
private val OPTIONAL_EDGES = numbers(OPTIONAL)
private val CODE_LETTER_EDGES = numbers(CODE_LETTERS)

/** The kinds of the code points that most texts consist of. */
private val LOW = IntArray(0x300) { point -> CHANGES.last { it shr 9 <= point } and 0x1FF }
