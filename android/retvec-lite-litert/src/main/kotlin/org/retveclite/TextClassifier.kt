package org.retveclite

import android.content.Context
import org.json.JSONObject
import org.tensorflow.lite.Interpreter
import java.io.Closeable
import java.io.File
import java.nio.ByteBuffer
import java.nio.ByteOrder.LITTLE_ENDIAN
import java.security.MessageDigest
import java.util.zip.ZipInputStream
import kotlin.math.pow

/** Runs a signature of the model: LiteRT in an app, a substitute in tests without a device. */
internal interface Engine : Closeable {
    fun run(signature: String, inputs: Map<String, Any>, outputs: Map<String, Any>)
}

/**
 * Classifies texts with a `.tflite` exported by retvec-lite: raw text in, probabilities out, no tokenizer, no vocabulary.
 *
 *     TextClassifier(context).use { Log.i(TAG, "${it.predict("where is my parcle?")}") }
 *
 * Labels and sizes come from the model. Open and call it off the main thread. Calls from several threads wait for each other, and what goes
 * wrong is a [RetvecError], with the codes of the engine. A call
 * allocates nothing but its result (and a copy of texts in other scripts than Latin, to see whether they are composed).
 */
class TextClassifier internal constructor(model: ByteBuffer, start: (ByteBuffer) -> Engine) : Closeable {
    private val metadata = readMetadata(model)

    /** The labels, in the order of the probabilities. */
    val labels: List<String> = metadata.getJSONArray("labels").let { list -> List(list.length()) { list.getString(it) } }

    /** How many code points the model takes at once; a longer text is read in windows that end at words. */
    val maxChars: Int = metadata.getJSONObject("encoder").getInt("max_chars")

    private val input = IntArray(maxChars)
    private val inputs = mapOf<String, Any>("codepoints" to arrayOf(input))
    private val classify = Signature("classify", "probabilities", labels.size)
    private val embed = metadata.getJSONArray("signatures").optJSONObject(1)?.let { Signature("embed", "text", it.getInt("dimension")) }
    private val decision = metadata.optJSONObject("decision") ?: JSONObject()
    private val threshold = decision.optDouble("threshold", 0.0)
    private val unknown = if (decision.isNull("unknown_label")) -1 else labels.indexOf(decision.getString("unknown_label"))
    private val unknownPower = decision.optDouble("unknown_power", 0.0)
    private val thresholds = decision.optJSONArray("thresholds")?.let { list -> DoubleArray(list.length(), list::getDouble) }
    private val characters = sorted(decision.optString("characters"))
    private val shares = decision.optJSONArray("shares")?.let { list -> DoubleArray(list.length(), list::getDouble) }
        ?: DoubleArray(labels.size) { 1.0 / labels.size }
    private val windows = Windows(maxChars)
    private val combined = Combined(labels.size, unknown, thresholds != null, shares)
    private var engine: Engine? = start(model)

    /** How many code points of a text are read, of what a person sees of it; what lies behind them is not. */
    val readLimit: Int get() = windows.limit

    /** The length of the vectors from [embed]; 0 for a model exported without embeddings. */
    val embeddingSize: Int = embed?.result?.size ?: 0

    /** Maps an uncompressed asset; Gradle leaves `.tflite` uncompressed. */
    @JvmOverloads
    @Throws(RetvecError::class)
    constructor(context: Context, asset: String = "classifier.tflite") : this(mapAsset(context, asset), ::LiteRt)

    /** Maps a file, which must not change until [close]. */
    @Throws(RetvecError::class)
    constructor(file: File) : this(mapFile(file), ::LiteRt)

    /** Writes the probability of each of [labels] to [into], which callers may reuse, and returns it. */
    @JvmOverloads
    @Synchronized fun probabilities(text: CharSequence, into: FloatArray = FloatArray(labels.size)): FloatArray {
        windows.read(text)
        windows.next()
        val first = run(classify)
        if (windows.isLast) return first.copyInto(into)
        combined.clear()
        combined.add(first, windows.counts(characters))
        while (windows.next()) combined.add(run(classify), windows.counts(characters))
        return combined.copyInto(into)
    }

    /** Returns the most probable label of a text and its probability; with [reject], the label of a text with none is null. */
    @JvmOverloads
    fun predict(text: CharSequence, reject: Boolean = true): Prediction {
        val probabilities = probabilities(text)
        val best = best(probabilities, if (reject) unknown else -1)
        val answer = if (reject) answers(text, probabilities).firstOrNull() else best
        return Prediction(answer?.let(labels::get), probabilities[answer ?: best])
    }

    /** Returns what [predict] says of each text. */
    @JvmOverloads
    fun predictMany(texts: Iterable<CharSequence>, reject: Boolean = true): List<Prediction> = texts.map { predict(it, reject) }

    /** Returns all labels of a text, most probable first: one or none, or any number if the model was trained with several a text. */
    fun predictAll(text: CharSequence): List<Prediction> {
        val probabilities = probabilities(text)
        return answers(text, probabilities).map { Prediction(labels[it], probabilities[it]) }
    }

    /** Returns where in [labels] those of a text with these [probabilities] are, most probable first; see [predictAll]. */
    @Synchronized fun answers(text: CharSequence, probabilities: FloatArray): List<Int> {
        if (characters.isNotEmpty() && !windows.hasAny(text, characters)) return emptyList()
        if (thresholds != null) {
            return labels.indices.filter { probabilities[it] >= thresholds[it] }.sortedByDescending { probabilities[it] }
        }
        val best = best(probabilities, unknown)
        val none = if (unknown < 0) 0f else probabilities[unknown]
        val isUnknown = probabilities[best] < threshold * none.toDouble().pow(unknownPower) || none > probabilities[best]
        return if (isUnknown) emptyList() else listOf(best)
    }

    /** Returns the text as a vector of norm 1 (zeros for a text without words), for search and comparison by dot product. */
    @JvmOverloads
    @Synchronized fun embed(text: CharSequence, into: FloatArray = FloatArray(embeddingSize)): FloatArray {
        if (embed == null) throw RetvecError("WRONG_CALL", "This model has no embeddings. Export it with --embed.")
        windows.read(text)
        windows.next()
        run(embed).copyInto(into)
        if (windows.isLast) return into
        while (windows.next()) run(embed).forEachIndexed { index, value -> into[index] += value }
        return into.scale()
    }

    /**
     * Tells which words of a text speak for a label, the most probable one by default. The text is classified again without each of its words,
     * so n words take the time of n + 1 calls, up to about 200 words; in a longer one, they are looked for in the spans that count most.
     * Scripts without spaces are cut into pieces of one to three characters, and so are the words of a text of one or two.
     */
    @JvmOverloads
    fun explain(text: String, label: String? = null): List<Span> {
        val place = label?.let(labels::indexOf)
        if (place == -1) throw RetvecError("WRONG_CALL", "\"$label\" is no label of this model: ${labels.joinToString(limit = 20)}.")
        return explain(text, readLimit, maxChars, place) { read -> probabilities(read) }
    }

    @Synchronized override fun close() {
        engine?.close()
        engine = null
    }

    private fun run(signature: Signature): FloatArray {
        windows.copyInto(input)
        val opened = engine ?: throw RetvecError("CLOSED", "The classifier is closed.")
        opened.run(signature.name, inputs, signature.outputs)
        return signature.result
    }
}

/** Returns the index of the largest probability but that of one label. */
private fun best(probabilities: FloatArray, without: Int): Int =
    probabilities.indices.filter { it != without }.maxByOrNull { probabilities[it] }!!

/** Returns the code points of a string in ascending order. */
private fun sorted(text: String): IntArray {
    var at = 0
    return IntArray(text.codePointCount(0, text.length)) { text.codePointAt(at).also { at += Character.charCount(it) } }.apply { sort() }
}

/** A signature of the model, with an array for its output that every call reuses. */
private class Signature(val name: String, output: String, size: Int) {
    val result = FloatArray(size)
    val outputs = mapOf<String, Any>(output to arrayOf(result))
}

private class LiteRt(model: ByteBuffer) : Engine {
    // Allocate before any signature runs: only then do all of them get the fast kernels.
    private val interpreter = Interpreter(model, Interpreter.Options().setNumThreads(1)).apply { allocateTensors() }

    override fun run(signature: String, inputs: Map<String, Any>, outputs: Map<String, Any>) =
        interpreter.runSignature(inputs, outputs, signature)
    override fun close() = interpreter.close()
}

/** Reads `retvec_lite.json` and checks that the model is whole and follows this contract: others may crash the runtime. */
private fun readMetadata(model: ByteBuffer): JSONObject = try {
    val file = ByteArray(model.capacity()).also { model.duplicate().get(it) }
    val bytes = ByteBuffer.wrap(file).order(LITTLE_ENDIAN)
    expect(bytes.getInt(4) == 0x334C4654, "RVL_NOT_RETVEC") { "The file is not a .tflite model." }
    // Standard TFLite metadata: a zip after the model; the directory at its end says where it starts.
    val start = bytes.getInt(bytes.getInt(file.size - 6) + 42)
    val zip = ZipInputStream(file.inputStream(start, file.size - start))
    val json = JSONObject(String(zip.apply { while (nextEntry.name != "retvec_lite.json") continue }.readBytes()))
    expect(json.getString("format") == "retvec-lite", "RVL_NOT_RETVEC") { "The metadata has the format ${json.get("format")}, not retvec-lite." }
    val version = json.getInt("contract_version")
    expect(version == 3, "RVL_VERSION") { "The model follows contract version $version, this class 3. Use both from one release." }
    val labels = json.getJSONArray("labels").length()
    check(labels > 0 && json.getJSONObject("encoder").getInt("max_words") > 0)
    val signatures = json.getJSONArray("signatures").let { list -> List(list.length(), list::getJSONObject) }
    check(signatures.map { it.getString("name") } == listOf("classify", "embed").take(maxOf(signatures.size, 1)))
    check(signatures.drop(1).all { it.getInt("dimension") > 0 })
    for (name in listOf("thresholds", "shares")) check(json.optJSONObject("decision")?.optJSONArray(name)?.let { it.length() == labels } != false)
    val digest = MessageDigest.getInstance("SHA-256").apply { update(file, 0, start) }.digest()
    val isSame = digest.joinToString("") { "%02x".format(it) } == json.getString("model_sha256")
    expect(isSame, "RVL_CHANGED") { "The model was changed after its export: its SHA-256 differs. Export it again." }
    json
} catch (error: Exception) {
    val message = "The file (${model.capacity()} bytes) has no readable metadata: it is cut short or from another tool."
    throw error as? RetvecError ?: RetvecError("RVL_DAMAGED", message, error)
}

private inline fun expect(condition: Boolean, code: String, message: () -> String) {
    if (!condition) throw RetvecError(code, message())
}
