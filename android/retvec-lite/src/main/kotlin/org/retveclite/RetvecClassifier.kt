package org.retveclite

import java.io.Closeable
import java.io.File
import java.nio.ByteBuffer

/**
 * Classifies texts with a `.retvec` on retvec-lite's own engine, 90 kB of native code: no LiteRT, no tokenizer, no vocabulary.
 *
 *     RetvecClassifier(File("classifier.retvec")).use { println(it.predict("where is my parcle?").label) }
 *
 * Threads may share an instance; their calls wait for each other. On Android, open and call it off the main thread;
 * `RetvecClassifier(context)` opens an asset. All that goes wrong is a [RetvecError].
 *
 * The constructor takes the bytes of a file, which must not change until [close].
 */
class RetvecClassifier @Throws(RetvecError::class) constructor(model: ByteBuffer) : Closeable {
    private val engine: Long

    /** What the engine reads and writes; null when it is closed. */
    private var kept: List<ByteBuffer>?
    private var given = started(INITIAL)
    private var result = direct(INITIAL)
    private val severalLabels: Boolean

    init {
        val file = model.alignedOrCopy()
        val size = file.capacity().toLong()
        checkProblem(NativeEngine.blockSize(file.address, size, WORDS, result.address))
        val needed = result.getLong(0)
        if (needed > MOST_BYTES) throw RetvecError("RVL_DAMAGED", "The model needs $needed bytes of memory, which is too much. Export it again.")
        val block = direct(needed.toInt())
        checkProblem(NativeEngine.open(file.address, size, WORDS, block.address, block.capacity().toLong(), result.address))
        engine = result.getLong(0)
        kept = listOf(file, block)
        severalLabels = file.getInt(settings(file) + 4 * MULTI_LABEL) == 1
    }

    /** The labels, in the order of the probabilities. */
    val labels: List<String> = List(NativeEngine.labels(engine)) { NativeEngine.label(engine, it).decode() }

    /** What the file says of itself, in JSON: its name and version, how it was trained, what it scored; empty for a file without. */
    val metadata: String = NativeEngine.metadata(engine).decode()

    /**
     * How many code points of a text are read, of those that are left without markup, padding and what is invisible. Long texts are read in
     * windows.
     */
    val readLimit: Int = NativeEngine.readLimit(engine)

    /** The length of the vectors from [embed]; 0 for a model that reads n-grams alone. */
    val embeddingSize: Int = NativeEngine.dimension(engine)

    /** What was taught: `size`, `texts`, `labels`, and `save` and `load` for its file. */
    val memory: Memory = Memory(this)

    /** Maps a file, which must not change until [close]. */
    @Throws(RetvecError::class)
    constructor(file: File) : this(mapFile(file))

    /** Returns the most probable label of a text and its probability; with [reject], the label of a text with none is null. */
    @JvmOverloads
    fun predict(text: CharSequence, reject: Boolean = true): Prediction {
        val first = if (reject || memory.size > 0) answers(text, 1).firstOrNull() else null
        if (first != null && (reject || first.taught != null)) return first
        val probabilities = probabilities(text)
        val best = probabilities.indices.maxByOrNull { probabilities[it] }!!
        return Prediction(if (reject) null else labels[best], probabilities[best])
    }

    /** Returns what [predict] says of each text. */
    @JvmOverloads
    fun predictMany(texts: Iterable<CharSequence>, reject: Boolean = true): List<Prediction> = texts.map { predict(it, reject) }

    /** Returns all labels of a text, most probable first: one or none, or any number if the model was trained with several a text. */
    fun predictAll(text: CharSequence): List<Prediction> =
        answers(text, if (severalLabels) labels.size else 1).filter { it.label != null }

    /** Writes the probability of each of [labels] to [into], which callers may reuse, and returns it. */
    @JvmOverloads
    @Synchronized fun probabilities(text: CharSequence, into: FloatArray = FloatArray(labels.size)): FloatArray {
        val bytes = write(text, 4 * labels.size)
        NativeEngine.probabilities(opened, given.address, bytes, result.address)
        result.asFloatBuffer().get(into, 0, labels.size)
        return into
    }

    /** Returns the text as a vector of norm 1 (zeros for a text without words), for search and comparison by dot product. */
    @JvmOverloads
    @Synchronized fun embed(text: CharSequence, into: FloatArray = FloatArray(embeddingSize)): FloatArray {
        if (embeddingSize == 0) throw RetvecError("WRONG_CALL", "This model reads n-grams alone and has no embeddings.")
        val bytes = write(text, 4 * embeddingSize)
        NativeEngine.embed(opened, given.address, bytes, result.address)
        result.asFloatBuffer().get(into, 0, embeddingSize)
        return into
    }

    /**
     * Tells which words of a text, of its first [readLimit] code points, speak for a label, the most probable one by default. A text of n words
     * takes the time of n + 1 calls, or less: words are computed once.
     */
    @JvmOverloads
    @Synchronized fun explain(text: CharSequence, label: String? = null): List<Span> {
        val place = if (label == null) -1 else labels.indexOf(label)
        if (label != null && place < 0) throw RetvecError("WRONG_CALL", "\"$label\" is no label of this model: ${labels.joinToString(limit = 20)}.")
        val most = minOf(text.length, readLimit)
        val bytes = write(text, SPAN * most)
        val found = NativeEngine.explain(opened, given.address, bytes, place, result.address, most)
        val places = IntArray(bytes + 1) { text.length }
        var byte = 0
        text.forEachPoint(lengthOf(text)) { point, at ->
            places[byte] = at
            byte += bytesOf(point)
        }
        return List(found) {
            val start = SPAN * it
            Span(places[result.getInt(start)], places[result.getInt(start + 4)], result.getDouble(start + 8).toFloat())
        }
    }

    /**
     * Teaches that a text has a label, old or new: from now on, [predict] and [predictAll] answer it, and texts like it, with that label. All
     * others are answered as before, to the last bit. What was taught lies in [memory], not in the model.
     *
     * Throws [RetvecError] for a text in which there is nothing to read, a label that is empty or too long, a full memory, or a model that
     * cannot be taught: one without embeddings, or with several labels a text.
     */
    @Throws(RetvecError::class)
    @Synchronized fun teach(text: CharSequence, label: String) {
        val bytes = write(text, 0)
        memory.teach(opened, given.address, bytes, label)
    }

    /** Forgets a text that was taught: everything is answered as if it had never been. */
    @Throws(RetvecError::class)
    @Synchronized fun forget(text: CharSequence) {
        val bytes = write(text, 0)
        memory.forget(opened, given.address, bytes)
    }

    /** Frees the engine; calls fail from then on. */
    @Synchronized override fun close() {
        kept = null
    }

    internal val opened: Long get() = if (kept != null) engine else throw RetvecError("CLOSED", "The classifier is closed.")

    @Synchronized private fun answers(text: CharSequence, most: Int): List<Prediction> {
        val bytes = write(text, ANSWER * most)
        val written = NativeEngine.classify(opened, given.address, bytes, result.address, most)
        val taught = memory.speaker(opened)
        return List(written) {
            val number = result.getInt(ANSWER * it)
            val label = labels.getOrNull(number) ?: if (number < 0) null else NativeEngine.label(engine, number).decode()
            Prediction(label, result.getFloat(ANSWER * it + 4), taught.takeIf { _ -> it == 0 })
        }
    }

    /** Writes a text as UTF-8, makes room for a result of so many bytes, and returns how many bytes the text has. */
    private fun write(text: CharSequence, room: Int): Int {
        val length = lengthOf(text)
        if (given.capacity() < 3 * length + 4) given = direct(6 * length + 4)
        if (result.capacity() < room) result = direct(2 * room)
        given.clear()
        text.forEachPoint(length) { point, _ -> given.putPoint(point) }
        return given.position()
    }

    private fun started(size: Int): ByteBuffer {
        NativeEngine.start()
        return direct(size)
    }

    /** Where the section of the settings starts in a file that the engine has checked; docs/engine.md has the format. */
    private fun settings(file: ByteBuffer): Int = file.getInt((64..MOST_BYTES.toInt() step 16).first { file.getInt(it) == 1 } + 4)

    private companion object {
        /** Words whose vectors are kept: 300 kB. */
        const val WORDS = 384
        const val INITIAL = 4096

        /** An engine that needs more is no sound one. */
        const val MOST_BYTES = 1L shl 30

        /** Bytes of `rvl_answer` and `rvl_span`. */
        const val ANSWER = 8
        const val SPAN = 16

        /** The place of a number among the settings. */
        const val MULTI_LABEL = 25
    }
}
