package org.retveclite

import java.nio.ByteBuffer

/**
 * Reads texts as the engine does, for a model that takes [maxChars] code points and runs on something else: `retvec-lite-litert` uses it.
 * One thread at a time.
 */
class TextReader @Throws(RetvecError::class) constructor(private val maxChars: Int) {
    /** How many code points of a text are read at most. */
    val limit: Int
    private val read: ByteBuffer
    private var given: ByteBuffer

    init {
        NativeEngine.start()
        limit = NativeEngine.readLimitOf(maxChars)
        read = direct(4 * limit)
        given = direct(4 * limit)
    }

    /** Writes what is read of a text, condensed, to [into], which has room for [limit] code points; returns how many there are. */
    fun read(text: CharSequence, into: IntArray): Int {
        val length = lengthOf(text)
        if (given.capacity() < 4 * length) given = direct(8 * length)
        given.clear()
        text.forEachPoint(length) { point, _ -> given.putInt(point) }
        val count = NativeEngine.condense(given.address, given.position() / 4, maxChars, read.address)
        for (at in 0 until count) into[at] = read.getInt(4 * at)
        return count
    }

    companion object {
        /** Returns where the parts of a text that are left out one by one start and end: its words, or pieces of them. */
        fun parts(text: String): List<Pair<Int, Int>> {
            val codes = direct(4 * text.length)
            val places = IntArray(text.length + 1) { text.length }
            text.forEachPoint(text.length) { point, at ->
                places[codes.position() / 4] = at
                codes.putInt(point)
            }
            val found = direct(8 * text.length)
            val count = NativeEngine.parts(codes.address, codes.position() / 4, found.address)
            return List(count) { places[found.getInt(8 * it)] to places[found.getInt(8 * it + 4)] }
        }

        /** Whether a code point divides words. */
        fun isSeparator(point: Int): Boolean = NativeEngine.isSeparator(point)
    }
}
