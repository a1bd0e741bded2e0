package org.retveclite

import java.io.File
import java.nio.ByteBuffer
import java.nio.ByteOrder

/** The functions of engine/android/jni.c. A [Long] is an address; results are written to addresses too. */
internal object NativeEngine {
    private val problem: Throwable? = runCatching { loadLibrary() }.exceptionOrNull()

    /** Throws [RetvecError] where the native library is missing: call it before any other function. */
    fun start() {
        if (problem != null) throw RetvecError("NO_ENGINE", "The native library cannot be loaded: ${problem.message}", problem)
    }

    @JvmStatic external fun address(buffer: ByteBuffer): Long
    @JvmStatic external fun message(problem: Int): ByteBuffer
    @JvmStatic external fun code(problem: Int): ByteBuffer
    @JvmStatic external fun blockSize(file: Long, size: Long, words: Int, result: Long): Int
    @JvmStatic external fun open(file: Long, size: Long, words: Int, block: Long, bytes: Long, result: Long): Int
    @JvmStatic external fun labels(engine: Long): Int
    @JvmStatic external fun label(engine: Long, label: Int): ByteBuffer
    @JvmStatic external fun metadata(engine: Long): ByteBuffer
    @JvmStatic external fun readLimit(engine: Long): Int
    @JvmStatic external fun dimension(engine: Long): Int
    @JvmStatic external fun probabilities(engine: Long, text: Long, bytes: Int, result: Long)
    @JvmStatic external fun classify(engine: Long, text: Long, bytes: Int, answers: Long, most: Int): Int
    @JvmStatic external fun explain(engine: Long, text: Long, bytes: Int, label: Int, spans: Long, most: Int): Int
    @JvmStatic external fun embed(engine: Long, text: Long, bytes: Int, result: Long)
    @JvmStatic external fun memorySize(engine: Long, texts: Int): Long
    @JvmStatic external fun memoryOpen(engine: Long, block: Long, bytes: Long): Int
    @JvmStatic external fun teach(engine: Long, text: Long, bytes: Int, label: Long): Int
    @JvmStatic external fun forget(engine: Long, text: Long, bytes: Int): Int
    @JvmStatic external fun taught(engine: Long): Int
    @JvmStatic external fun taughtText(engine: Long, number: Int, isLabel: Int): ByteBuffer
    @JvmStatic external fun speaker(engine: Long): Int
    @JvmStatic external fun memorySave(engine: Long, out: Long, most: Long): Long
    @JvmStatic external fun memoryLoad(engine: Long, data: Long, size: Long): Int
    @JvmStatic external fun readLimitOf(maxChars: Int): Int
    @JvmStatic external fun condense(codes: Long, count: Int, maxChars: Int, result: Long): Int
    @JvmStatic external fun parts(codes: Long, count: Int, result: Long): Int
    @JvmStatic external fun isSeparator(code: Int): Boolean
}

/** Loads the library that the .jar holds for this machine; on Android and where it holds none, the one that the system finds. */
private fun loadLibrary() {
    val system = System.getProperty("os.name").orEmpty().lowercase()
    val name = if (system.startsWith("mac")) "macos" else if (system.startsWith("windows")) "windows" else "linux"
    val processor = System.getProperty("os.arch").orEmpty().replace("amd64", "x86_64").replace("arm64", "aarch64")
    val library = System.mapLibraryName("retvec_lite")
    val packed = NativeEngine::class.java.getResourceAsStream("/org/retveclite/native/$name-$processor/$library")
        ?: return System.loadLibrary("retvec_lite")
    // Windows cannot delete a library that is in use.
    val file = ownFile(File(System.getProperty("java.io.tmpdir").orEmpty()), "retvec-lite-engine-", library)
    try {
        packed.use { from -> file.outputStream().use { from.copyTo(it) } }
        System.load(file.path)
    } finally {
        file.delete()
    }
}

/** Throws what the engine says is wrong, if anything. */
internal fun checkProblem(problem: Int) {
    if (problem != 0) throw RetvecError(NativeEngine.code(problem).decode(), NativeEngine.message(problem).decode())
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

/** How much of a text is given to the engine, which looks at 2^19 code points at most. */
internal fun lengthOf(text: CharSequence): Int = minOf(text.length, 1 shl 20)

/** Calls [take] with each code point of a text up to [end], and where it is; an unpaired surrogate is U+FFFD. */
internal inline fun CharSequence.forEachPoint(end: Int, take: (point: Int, at: Int) -> Unit) {
    var at = 0
    while (at < end) {
        val point = Character.codePointAt(this, at)
        take(if (point in 0xD800..0xDFFF) 0xFFFD else point, at)
        at += Character.charCount(point)
    }
}

/** How many bytes of UTF-8 a code point has. */
internal fun bytesOf(point: Int): Int = if (point < 0x80) 1 else if (point < 0x800) 2 else if (point < 0x10000) 3 else 4

/** Writes a code point as UTF-8. */
internal fun ByteBuffer.putPoint(point: Int) {
    val more = bytesOf(point) - 1
    put((if (more == 0) point else (0xFF00 shr more + 1 and 0xFF) or (point shr 6 * more)).toByte())
    for (left in more - 1 downTo 0) put((0x80 or (point shr 6 * left and 0x3F)).toByte())
}
