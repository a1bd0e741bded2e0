package org.retveclite

import java.io.File
import java.nio.ByteBuffer

/**
 * What a classifier was taught; [RetvecClassifier.memory] is one.
 *
 * It holds the texts themselves, up to 256 bytes of each, so a saved memory is as private as they are.
 */
class Memory internal constructor(private val classifier: RetvecClassifier) {
    private var block: ByteBuffer? = null
    private var room = 0

    /** How many texts are taught. */
    val size: Int get() = locked { NativeEngine.taught(it) }

    /** The taught texts, as they are kept, with their labels, in the order of teaching. */
    val texts: List<Pair<String, String>> get() = locked { engine ->
        List(NativeEngine.taught(engine)) { string(engine, it, 0) to string(engine, it, 1) }
    }

    /** The taught labels that the model does not have. */
    val labels: List<String> get() = texts.map { it.second }.distinct() - classifier.labels.toSet()

    /** Writes the memory to a file, whole or not at all, which every package of retvec-lite reads. */
    @Throws(RetvecError::class)
    fun save(file: File): Unit = withFile("CANNOT_SAVE", "$file cannot be written") {
        replaceFile(file, locked { saved(it) })
    }

    /**
     * Takes what a file holds, in place of what was taught; it may have been taught to another model. Throws [RetvecError] for a file that is
     * missing, no memory, damaged or of a newer version; then nothing changes.
     */
    @Throws(RetvecError::class)
    fun load(file: File) {
        val bytes = withFile("CANNOT_LOAD", "$file cannot be read") { file.readBytes() }
        val data = direct(bytes.size).apply { put(bytes) }
        locked { engine -> changed(engine) { NativeEngine.memoryLoad(engine, data.address, bytes.size.toLong()) } }
    }

    /** Forgets all texts. */
    fun clear() = locked { engine ->
        block?.let { NativeEngine.memoryOpen(engine, it.address, it.capacity().toLong()) }
        Unit
    }

    internal fun teach(engine: Long, text: Long, size: Int, label: String) {
        val bytes = label.toByteArray()
        val isText = '\u0000' !in label && String(bytes) == label // unpaired surrogates are none
        val name = direct(bytes.size + 1).apply { if (isText) put(bytes) }
        changed(engine) { NativeEngine.teach(engine, text, size, name.address) }
    }

    internal fun forget(engine: Long, text: Long, size: Int) = changed(engine) { NativeEngine.forget(engine, text, size) }

    /** Returns the taught text by which the memory gave the last answer. */
    internal fun speaker(engine: Long): String? = NativeEngine.speaker(engine).takeIf { it >= 0 }?.let { string(engine, it, 0) }

    private fun string(engine: Long, number: Int, isLabel: Int) = NativeEngine.taughtText(engine, number, isLabel).decode()

    private fun saved(engine: Long): ByteBuffer {
        changed(engine) { 0 }
        val bytes = direct(NativeEngine.memorySave(engine, 0, 0).toInt())
        NativeEngine.memorySave(engine, bytes.address, bytes.capacity().toLong())
        return bytes
    }

    /** Changes an open memory; where it has no room, a larger one, as long as there is. Throws what goes wrong. */
    private fun changed(engine: Long, change: () -> Int) {
        var problem = if (block == null) grow(engine) else 0
        if (problem == 0) problem = change()
        while (problem == FULL && grow(engine) == 0) problem = change()
        checkProblem(problem)
    }

    /** Opens a larger block with the same texts; returns the problem. */
    private fun grow(engine: Long): Int {
        val more = if (room == 0) FEW else 2 * room
        val bytes = NativeEngine.memorySize(engine, more).toInt()
        if (bytes <= (block?.capacity() ?: -1)) return FULL
        val larger = direct(bytes)
        val texts = block?.let { saved(engine) }
        val problem = NativeEngine.memoryOpen(engine, larger.address, bytes.toLong())
        if (problem != 0) return problem
        block = larger
        room = more
        return if (texts == null) 0 else NativeEngine.memoryLoad(engine, texts.address, texts.capacity().toLong())
    }

    private fun <T> locked(body: (Long) -> T): T = synchronized(classifier) { body(classifier.opened) }

    private companion object {
        /** RVL_FULL of engine/retvec_lite.h. */
        const val FULL = 12

        /** Texts for which the first block has room, on average. */
        const val FEW = 64
    }
}
