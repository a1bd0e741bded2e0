package org.retveclite

import java.nio.ByteBuffer
import java.nio.ByteOrder

/** The functions of engine/android/jni.c. A [Long] is an address; results are written to addresses too. */
internal object NativeEngine {
    init {
        System.loadLibrary("retvec_lite")
    }

    @JvmStatic external fun address(buffer: ByteBuffer): Long
    @JvmStatic external fun message(problem: Int): ByteBuffer
    @JvmStatic external fun blockSize(file: Long, size: Long, words: Int, result: Long): Int
    @JvmStatic external fun open(file: Long, size: Long, words: Int, block: Long, bytes: Long, result: Long): Int
    @JvmStatic external fun labels(engine: Long): Int
    @JvmStatic external fun label(engine: Long, label: Int): ByteBuffer
    @JvmStatic external fun readLimit(engine: Long): Int
    @JvmStatic external fun dimension(engine: Long): Int
    @JvmStatic external fun probabilities(engine: Long, codes: Long, count: Int, result: Long)
    @JvmStatic external fun classify(engine: Long, codes: Long, count: Int, answers: Long, most: Int): Int
    @JvmStatic external fun explain(engine: Long, codes: Long, count: Int, label: Int, spans: Long, most: Int): Int
    @JvmStatic external fun embed(engine: Long, codes: Long, count: Int, result: Long)
    @JvmStatic external fun memorySize(engine: Long, texts: Int): Long
    @JvmStatic external fun memoryOpen(engine: Long, block: Long, bytes: Long): Int
    @JvmStatic external fun teach(engine: Long, codes: Long, count: Int, label: Long): Int
    @JvmStatic external fun forget(engine: Long, codes: Long, count: Int): Int
    @JvmStatic external fun taught(engine: Long): Int
    @JvmStatic external fun taughtText(engine: Long, number: Int, isLabel: Int): ByteBuffer
    @JvmStatic external fun speaker(engine: Long): Int
    @JvmStatic external fun memorySave(engine: Long, out: Long, most: Long): Long
    @JvmStatic external fun memoryLoad(engine: Long, data: Long, size: Long): Int
}

/** The engine wants files and blocks at such multiples. */
private const val ALIGN = 16

internal val ByteBuffer.address: Long get() = NativeEngine.address(this)

/** Returns new memory of the machine's byte order at a multiple of [ALIGN]. */
internal fun direct(size: Int): ByteBuffer {
    val room = ByteBuffer.allocateDirect(size + ALIGN)
    room.position(((ALIGN - room.address % ALIGN) % ALIGN).toInt())
    room.limit(room.position() + size)
    return room.slice().order(ByteOrder.nativeOrder())
}

/** Returns a mapped file as it is, or a copy where an asset starts at another place than a multiple of [ALIGN]. */
internal fun ByteBuffer.alignedOrCopy(): ByteBuffer {
    val whole = duplicate().apply { clear() }
    val isAligned = isDirect && whole.address % ALIGN == 0L
    return (if (isAligned) whole else direct(capacity()).apply { put(whole) }.apply { clear() }).order(ByteOrder.LITTLE_ENDIAN)
}

/** Reads UTF-8. */
internal fun ByteBuffer.decode(): String = Charsets.UTF_8.decode(this).toString()
