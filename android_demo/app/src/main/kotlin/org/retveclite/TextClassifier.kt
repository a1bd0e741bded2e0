package org.retveclite

import android.content.Context
import org.json.JSONObject
import org.tensorflow.lite.Interpreter
import java.io.Closeable
import java.io.File
import java.io.FileInputStream
import java.io.IOException
import java.nio.ByteBuffer
import java.nio.ByteOrder.LITTLE_ENDIAN
import java.nio.channels.FileChannel.MapMode.READ_ONLY
import java.security.MessageDigest
import java.util.zip.ZipInputStream

/** The file is not of retvec-lite, is damaged, or follows another contract than this class: the message tells. */
class UnsupportedModelException(message: String, cause: Throwable? = null) : IOException(message, cause)

/** What runs a signature of the file: LiteRT in an app; a test without a device has something else. */
internal interface Engine : Closeable {
    fun run(signature: String, inputs: Map<String, Any>, outputs: Map<String, Any>)
}

/**
 * Classifies texts with a `.tflite` file of retvec-lite: raw text in, probabilities out, no tokenizer and no vocabulary.
 *
 *     TextClassifier(context).use { Log.i(TAG, "${it.labels.zip(it.classify("where is my parcle?").asList())}") }
 *
 * Copy this file; it needs `com.google.ai.edge.litert:litert` and nothing else. Labels and sizes come from the model. Open and
 * call it on a background dispatcher; calls from several threads wait for each other. A call allocates its result at most.
 */
class TextClassifier internal constructor(model: ByteBuffer, start: (ByteBuffer) -> Engine) : Closeable {
    private val metadata = readMetadata(model)

    /** The classes, in the order of the probabilities. */
    val labels: List<String> = metadata.getJSONArray("labels").let { list -> List(list.length()) { list.getString(it) } }

    private val signatures = metadata.optJSONArray("signatures")
        ?.let { list -> List(list.length()) { Signature(list.getJSONObject(it), labels.size) } }
        ?: listOf(Signature(metadata.getJSONObject("encoder"), labels.size))
    private val full = signatures.first { it.name == "classify" }
    private val short = signatures.filter { it.kind == "classify" && it !== full }.sortedBy { it.maxWords }.toTypedArray()
    private val embedder = signatures.find { it.kind == "embed" }
    private val codePoints = IntArray(full.maxChars)
    private var blanks = 0
    private val engine = start(model)

    /** The length of what [embed] returns, 0 for a model exported without embeddings. */
    val embeddingSize: Int = embedder?.result?.size ?: 0

    /** Maps an asset, uncompressed as Gradle leaves a `.tflite`; throws [IOException] when it is not there or no such model. */
    constructor(context: Context, asset: String = "classifier.tflite") : this(
        context.assets.openFd(asset).use { part ->
            FileInputStream(part.fileDescriptor).use { it.channel.map(READ_ONLY, part.startOffset, part.declaredLength) }
        },
        ::LiteRt,
    )

    /** The same with a file, which must stay as it is until [close]. */
    constructor(file: File) : this(FileInputStream(file).use { it.channel.map(READ_ONLY, 0, file.length()) }, ::LiteRt)

    /** The probability of each of [labels], written to [into], which a caller may reuse. */
    @Synchronized fun classify(text: CharSequence, into: FloatArray = FloatArray(labels.size)): FloatArray {
        val count = readCodePoints(text)
        // A short text pays for a short graph, which tells how many slots the text needs: with too few, a longer one runs.
        for (signature in short) {
            if (count > signature.maxChars || blanks >= signature.maxWords) continue // more words than slots, all but surely
            val probabilities = run(signature, count)
            if (signature.slots[0] <= signature.maxWords) return probabilities.copyInto(into)
        }
        return run(full, count).copyInto(into)
    }

    /** The text as a vector of length 1 (all zeros for a text without words), to search and compare by dot product. */
    @Synchronized fun embed(text: CharSequence, into: FloatArray = FloatArray(embeddingSize)): FloatArray {
        checkNotNull(embedder) { "Expected a model exported with --embed, received one without embeddings." }
        return run(embedder, readCodePoints(text)).copyInto(into)
    }

    @Synchronized override fun close() = engine.close()

    /** Reads as many code points as the model takes, unpaired surrogates as they are: all cleaning is inside the graph. */
    private fun readCodePoints(text: CharSequence): Int {
        var count = 0
        var at = 0
        blanks = 0
        while (at < text.length && count < codePoints.size) {
            codePoints[count] = Character.codePointAt(text, at)
            if (codePoints[count] == ' '.code) blanks++
            at += Character.charCount(codePoints[count++])
        }
        return count
    }

    private fun run(signature: Signature, count: Int): FloatArray {
        codePoints.copyInto(signature.input, endIndex = count)
        signature.input.fill(0, count)
        engine.run(signature.name, signature.inputs, signature.outputs)
        return signature.result
    }
}

/** A signature of the model with the arrays for its input and outputs, which every call reuses. */
private class Signature(json: JSONObject, classes: Int) {
    val name: String = json.optString("name", "classify")
    val kind: String = json.optString("kind", "classify")
    val maxChars = json.getInt("max_chars")
    val maxWords = json.getInt("max_words")
    val input = IntArray(maxChars)
    val inputs = mapOf<String, Any>("codepoints" to arrayOf(input))
    val result = FloatArray(if (kind == "embed") json.getInt("dimension") else classes)
    val slots = IntArray(1)
    val outputs = mapOf<String, Any>((if (kind == "embed") "text" else "probabilities") to arrayOf(result)) +
        if (kind == "classify" && name != kind) mapOf("slots" to slots) else emptyMap()
}

private class LiteRt(model: ByteBuffer) : Engine {
    // Allocating here, before any signature runs, is what hands the graphs of all of them to the fast kernels.
    private val interpreter = Interpreter(model, Interpreter.Options().setNumThreads(1)).apply { allocateTensors() }

    override fun run(signature: String, inputs: Map<String, Any>, outputs: Map<String, Any>) =
        interpreter.runSignature(inputs, outputs, signature)
    override fun close() = interpreter.close()
}

/** `retvec_lite.json` of a model that is whole and follows this contract: a runtime may crash on any other. */
private fun readMetadata(model: ByteBuffer): JSONObject = try {
    val file = ByteArray(model.capacity()).also { model.duplicate().get(it) }
    val bytes = ByteBuffer.wrap(file).order(LITTLE_ENDIAN)
    expect(bytes.getInt(4) == 0x334C4654) { "Expected a .tflite model, received a file of another kind." }
    // Standard TFLite metadata: a zip behind the model; the directory at its end says where it starts.
    val start = bytes.getInt(bytes.getInt(file.size - 6) + 42)
    val zip = ZipInputStream(file.inputStream(start, file.size - start))
    val json = JSONObject(String(zip.apply { while (nextEntry.name != "retvec_lite.json") continue }.readBytes()))
    expect(json.getString("format") == "retvec-lite") { "Expected the format retvec-lite, received ${json.get("format")}." }
    val version = json.getInt("contract_version")
    expect(version == 1) { "Expected contract version 1, received $version: take this class and the model from one release." }
    check(json.getJSONArray("labels").length() > 0 && json.getJSONObject("encoder").getInt("max_words") > 0)
    val digest = MessageDigest.getInstance("SHA-256").apply { update(file, 0, start) }.digest()
    val isSame = digest.joinToString("") { "%02x".format(it) } == json.getString("model_sha256")
    expect(isSame) { "Expected the SHA-256 noted at export, but the model was changed since: export it again." }
    json
} catch (error: Exception) {
    val received = "received ${model.capacity()} bytes without its metadata: cut short or from another tool."
    throw error as? UnsupportedModelException ?: UnsupportedModelException("Expected a model of retvec-lite, $received", error)
}

private inline fun expect(condition: Boolean, message: () -> String) {
    if (!condition) throw UnsupportedModelException(message())
}
