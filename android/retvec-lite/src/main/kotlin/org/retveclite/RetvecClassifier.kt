package org.retveclite

import android.content.Context
import java.io.Closeable
import java.io.File
import java.io.FileInputStream
import java.io.IOException
import java.nio.ByteBuffer
import java.nio.channels.FileChannel.MapMode.READ_ONLY
import java.text.Normalizer

/**
 * Classifies texts with a `.retvec` on retvec-lite's own engine, 90 kB of native code: no LiteRT, no tokenizer, no vocabulary.
 *
 *     RetvecClassifier(context).use { Log.i(TAG, "${it.predict("where is my parcle?")}") }
 *
 * Open and call it off the main thread. Calls from several threads wait for each other.
 */
class RetvecClassifier internal constructor(model: ByteBuffer, words: Int = WORDS) : Closeable {
    private val engine: Long

    /** What the engine reads and writes; null when it is closed. */
    private var kept: List<ByteBuffer>?
    private var codes = direct(INITIAL)
    private var result = direct(INITIAL)
    private val contract: Int
    private val severalLabels: Boolean

    init {
        val file = model.alignedOrCopy()
        val size = file.capacity().toLong()
        check(NativeEngine.blockSize(file.address, size, words, result.address))
        val needed = result.getLong(0)
        if (needed > MOST_BYTES) throw UnsupportedModelException("The model needs $needed bytes of memory, which is too much. Export it again.")
        val block = direct(needed.toInt())
        check(NativeEngine.open(file.address, size, words, block.address, block.capacity().toLong(), result.address))
        engine = result.getLong(0)
        kept = listOf(file, block)
        val settings = section(file, SETTINGS)
        contract = file.getInt(settings + 4 * CONTRACT_VERSION)
        severalLabels = file.getInt(settings + 4 * MULTI_LABEL) == 1
    }

    /** The labels, in the order of the probabilities. */
    val labels: List<String> = List(NativeEngine.labels(engine)) { NativeEngine.label(engine, it).decode() }

    /**
     * How many code points of a text are read; what lies behind them is not. Long texts are read in windows. Models that follow version 3 of the
     * contract, as new ones do, count those that are left without markup, padding and what is invisible.
     */
    val readLimit: Int = NativeEngine.readLimit(engine)

    /** The length of the vectors from [embed]; 0 for a model that reads n-grams alone. */
    val embeddingSize: Int = NativeEngine.dimension(engine)

    /** What was taught: `size`, `texts`, `labels`, and `save` and `load` for its file. */
    val memory: Memory = Memory(this)

    /** Maps an uncompressed asset (`noCompress += "retvec"` in Gradle); throws [IOException] if it is missing or unsupported. */
    constructor(context: Context, asset: String = "classifier.retvec") : this(
        context.assets.openFd(asset).use { part ->
            FileInputStream(part.fileDescriptor).use { it.channel.map(READ_ONLY, part.startOffset, part.declaredLength) }
        },
    )

    /** Maps a file, which must not change until [close]; throws [IOException] like the constructor above. */
    constructor(file: File) : this(FileInputStream(file).use { it.channel.map(READ_ONLY, 0, file.length()) })

    /** Writes the probability of each of [labels] to [into], which callers may reuse, and returns it. */
    @Synchronized fun classify(text: CharSequence, into: FloatArray = FloatArray(labels.size)): FloatArray {
        val count = write(given(text), 4 * labels.size)
        NativeEngine.probabilities(opened, codes.address, count, result.address)
        result.asFloatBuffer().get(into, 0, labels.size)
        return into
    }

    /** Returns the most probable label of a text and its probability; with [reject], the label of a text with none is null. */
    fun predict(text: CharSequence, reject: Boolean = true): Prediction {
        val first = if (reject || memory.size > 0) answers(text, 1).firstOrNull() else null
        if (first != null && (reject || (first.taught != null && first.label != null))) return first
        val probabilities = classify(text)
        val best = probabilities.indices.maxByOrNull { probabilities[it] }!!
        return Prediction(if (reject) null else labels[best], probabilities[best])
    }

    /** Returns all labels of a text, most probable first: one or none, or any number if the model was trained with several a text. */
    fun predictAll(text: CharSequence): List<Prediction> =
        answers(text, if (severalLabels) labels.size else 1).filter { it.label != null }

    /** Returns the text as a vector of norm 1 (zeros for a text without words), for search and comparison by dot product. */
    @Synchronized fun embed(text: CharSequence, into: FloatArray = FloatArray(embeddingSize)): FloatArray {
        check(embeddingSize > 0) { "This model reads n-grams alone and has no embeddings." }
        val count = write(given(text), 4 * embeddingSize)
        NativeEngine.embed(opened, codes.address, count, result.address)
        result.asFloatBuffer().get(into, 0, embeddingSize)
        return into
    }

    /**
     * Tells which words of a text, of its first [readLimit] code points, speak for a label: an index of [labels], the most probable one by
     * default. A text of n words takes the time of n + 1 calls, or less: words are computed once. Models that follow version 1 or 2 of the
     * contract take the text for one in composed form (NFC, as most texts are).
     */
    @Synchronized fun explain(text: CharSequence, label: Int? = null): List<Span> {
        val read = given(text, readLimit)
        val count = write(read, SPAN * read.length)
        val found = NativeEngine.explain(opened, codes.address, count, label ?: -1, result.address, count)
        return List(found) {
            val start = read.offsetByCodePoints(0, result.getInt(SPAN * it))
            val end = read.offsetByCodePoints(0, result.getInt(SPAN * it + 4))
            Span(start, end, result.getDouble(SPAN * it + 8).toFloat())
        }
    }

    /**
     * Teaches that a text has a label, old or new: from now on, [predict] and [predictAll] answer it, and texts like it, with that label. All
     * others are answered as before, to the last bit. What was taught lies in [memory], not in the model.
     *
     * Throws [IllegalArgumentException] for a text in which there is nothing to read, a label that is empty or too long, a full memory, or a
     * model that cannot be taught: one without embeddings, or with several labels a text.
     */
    @Synchronized fun teach(text: CharSequence, label: String) {
        val count = write(given(text), 0)
        memory.teach(opened, codes.address, count, label)
    }

    /** Forgets a text that was taught: everything is answered as if it had never been. */
    @Synchronized fun forget(text: CharSequence) {
        val count = write(given(text), 0)
        memory.forget(opened, codes.address, count)
    }

    /** Frees the engine; calls fail from then on. */
    @Synchronized override fun close() {
        kept = null
    }

    internal val opened: Long get() = engine.also { checkNotNull(kept) { "The classifier is closed." } }

    @Synchronized private fun answers(text: CharSequence, most: Int): List<Prediction> {
        val count = write(given(text), ANSWER * most)
        val written = NativeEngine.classify(opened, codes.address, count, result.address, most)
        val taught = memory.speaker(opened)
        return List(written) {
            val number = result.getInt(ANSWER * it)
            val label = labels.getOrNull(number) ?: if (number < 0) null else NativeEngine.label(engine, number).decode()
            Prediction(label, result.getFloat(ANSWER * it + 4), taught.takeIf { _ -> it == 0 })
        }
    }

    /** Writes the code points of a text, makes room for a result of so many bytes, and returns how many there are. */
    private fun write(text: String, bytes: Int): Int {
        if (codes.capacity() < 4 * text.length) codes = direct(8 * text.length)
        if (result.capacity() < bytes) result = direct(2 * bytes)
        var count = 0
        var at = 0
        while (at < text.length) {
            val point = text.codePointAt(at)
            codes.putInt(4 * count++, point)
            at += Character.charCount(point)
        }
        return count
    }

    /** Returns the text as the engine takes it: up to [most] code points; under earlier versions of the contract composed, as far as it is read. */
    private fun given(whole: CharSequence, most: Int = MOST_GIVEN): String {
        val limit = if (contract > 2) most else if (contract == 2) readLimit else MOST_DECOMPOSED * readLimit
        val isLong = whole.length > limit && Character.codePointCount(whole, 0, whole.length) > limit
        val text = (if (isLong) whole.subSequence(0, Character.offsetByCodePoints(whole, 0, limit)) else whole).toString()
        return if (contract > 2 || Normalizer.isNormalized(text, Normalizer.Form.NFC)) text else Normalizer.normalize(text, Normalizer.Form.NFC)
    }

    /** Where a section of the file starts, which the engine has checked. */
    private fun section(file: ByteBuffer, kind: Int): Int {
        val count = file.getInt(COUNT_AT)
        val entry = (0 until count).map { SECTIONS_AT + SECTION_SIZE * it }.first { file.getInt(it) == kind }
        return file.getInt(entry + 4)
    }

    private fun check(problem: Int) {
        if (problem != 0) throw UnsupportedModelException(NativeEngine.message(problem).decode())
    }

    private companion object {
        /** Words whose vectors are kept: 300 kB. */
        const val WORDS = 384
        const val INITIAL = 4096

        /** An engine that needs more is no sound one. */
        const val MOST_BYTES = 1L shl 30

        /** A composed character has at most so many code points in decomposed form. */
        const val MOST_DECOMPOSED = 4

        /** Code points of a text that the engine looks at, where it condenses it. */
        const val MOST_GIVEN = 1 shl 19

        /** Bytes of `rvl_answer` and `rvl_span`. */
        const val ANSWER = 8
        const val SPAN = 16

        // The format of the file.
        const val COUNT_AT = 20
        const val SECTIONS_AT = 64
        const val SECTION_SIZE = 16
        const val SETTINGS = 1
        const val CONTRACT_VERSION = 0
        const val MULTI_LABEL = 25
    }
}
