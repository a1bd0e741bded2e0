package org.retveclite

/**
 * The order in which a text is displayed, without what was typed and taken back: rule 0c of "Condensing" in docs/contract.md.
 *
 * A line holds the code points in which something may still change.
 */
internal class Display {
    private val line = IntArray(HELD)
    private val levels = IntArray(HELD)
    private var held = 0

    /** Embeddings, overrides and isolates: their levels, and which are isolates, as the text itself is. */
    private val open = IntArray(DEEPEST + 1)
    private val isolates = BooleanArray(DEEPEST + 1) { it == 0 }
    private var depth = 0

    /** How many are open that are too deep to count. */
    private var lost = 0

    /** Whether the last letter in an override is not of a script that is written from right to left. */
    private var isFromLeft = false

    private var points = IntArray(0)
    private var count = 0

    /** Puts the first code points of an array into order, and returns how many are left. */
    fun read(text: IntArray, size: Int): Int {
        var isOrdered = true
        for (at in 0 until size) if (isBackspace(text[at]) || text[at] == OVERRIDE) isOrdered = false
        if (isOrdered) return size
        points = text
        count = 0
        held = 0
        isFromLeft = false
        endAll()
        for (at in 0 until size) {
            val point = text[at]
            when {
                isBackspace(point) -> takeBack()
                isDirection(point) -> turn(point)
                kindsOf(point) and IGNORED == 0 && !isOptional(point) -> add(point)
            }
            if (held == HELD) passOn(HELD / 2)
        }
        passOn(held)
        return count
    }

    private fun endAll() {
        depth = 0
        lost = 0
    }

    private fun add(point: Int) {
        if (point == '\n'.code || point == '\r'.code) endAll()
        val level = open[depth]
        if (level % 2 == 0) return hold(point, level)
        if (!isGap(point) && kindsOf(point) and MARK == 0) {
            val isFirst = !isFromLeft
            isFromLeft = !isLeftward(point)
            // What is between letters from right to left and others stands with these.
            if (isFirst && isFromLeft) {
                var at = held - 1
                while (at >= 0 && levels[at] == level + 1 && isGap(line[at])) levels[at--] = level
            }
        }
        hold(point, if (isFromLeft) level else level + 1)
    }

    private fun hold(point: Int, level: Int) {
        line[held] = point
        levels[held++] = level
    }

    /** Leaves out the last letter with its marks. */
    private fun takeBack() {
        while (held > 0) if (!isMark(line[--held])) return
    }

    /** Begins or ends an embedding, an override or an isolate. */
    private fun turn(control: Int) {
        val endsIsolate = control == END_OF_ISOLATE
        val ends = endsIsolate || control == END
        val level = if (control == OVERRIDE) open[depth] + 1 or 1 else open[depth] + 2 and 1.inv()
        isFromLeft = false
        if (lost > 0 || !ends && level > DEEPEST) {
            lost += if (ends) -1 else 1
        } else if (ends) {
            var at = depth
            while (endsIsolate && !isolates[at]) at--
            if (at == 0 || isolates[at] != endsIsolate) return
            depth = at - 1
            if (endsIsolate) addBoundary()
        } else {
            val isIsolate = control >= FIRST_ISOLATE
            if (isIsolate) addBoundary()
            open[++depth] = level
            isolates[depth] = isIsolate
        }
    }

    /** Adds a boundary; of boundaries in a row, the lowest counts. */
    private fun addBoundary() {
        if (held > 0 && line[held - 1] == BOUNDARY) {
            levels[held - 1] = minOf(levels[held - 1], open[depth])
        } else {
            hold(BOUNDARY, open[depth])
        }
    }

    private fun passOn(size: Int) {
        putInOrder(size)
        for (at in 0 until size) if (line[at] != BOUNDARY) points[count++] = line[at]
        held -= size
        line.copyInto(line, 0, size, size + held)
        levels.copyInto(levels, 0, size, size + held)
    }

    /** From the highest level down, what is not below it is reversed. */
    private fun putInOrder(size: Int) {
        var level = 0
        var start = 0
        while (start < size) {
            var end = start + 1
            while (end < size && levels[end] == levels[start] && isMark(line[end])) end++
            if (levels[start] % 2 == 1) reverse(start, end) // Marks stay behind their letter.
            level = maxOf(level, levels[start])
            start = end
        }
        while (level > 0) {
            start = 0
            while (start < size) {
                var end = start
                while (end < size && levels[end] >= level) end++
                reverse(start, end)
                start = end + 1
            }
            level--
        }
    }

    private fun reverse(start: Int, end: Int) {
        line.reverse(start, end)
        levels.reverse(start, end)
    }
}

/** Whether a code point takes back the letter before it. */
internal fun isBackspace(point: Int): Boolean = point == 0x08 || point == 0x7F

private fun isDirection(point: Int): Boolean = point in 0x202A..OVERRIDE || point in FIRST_ISOLATE..END_OF_ISOLATE

private fun isMark(point: Int): Boolean = point == BOUNDARY || kindsOf(point) and MARK != 0

private fun isLeftward(point: Int): Boolean {
    for (at in LEFTWARD_EDGES.indices step 2) if (point in LEFTWARD_EDGES[at]..LEFTWARD_EDGES[at + 1]) return true
    return false
}

private val LEFTWARD_EDGES = numbers(LEFTWARD)

/** Code points in which something may be taken back or turned; of so many, the first half is passed on. */
private const val HELD = 768

/** The highest level: odd ones are read from right to left. */
private const val DEEPEST = 125
private const val OVERRIDE = 0x202E
private const val END = 0x202C
private const val FIRST_ISOLATE = 0x2066
private const val END_OF_ISOLATE = 0x2069

/** Where an isolate begins or ends. */
private const val BOUNDARY = 0x110000
