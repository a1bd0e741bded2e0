package org.retveclite

import org.json.JSONArray
import org.json.JSONObject
import java.io.ByteArrayOutputStream
import java.io.File
import java.nio.ByteBuffer
import java.nio.ByteOrder.LITTLE_ENDIAN
import java.util.zip.CRC32
import java.util.zip.ZipEntry
import java.util.zip.ZipFile
import java.util.zip.ZipOutputStream

/** The model in the assets of the demo, and variants of it that differ in one respect. */
internal object ModelFile {
    val file = File("../../android_demo/app/src/main/assets/classifier.tflite")
    val bytes: ByteArray = file.readBytes()
    val json: JSONObject = JSONObject(member("retvec_lite.json"))

    /** The flatbuffer without the zip tail. */
    val model: ByteArray = buffer(bytes).let { bytes.copyOf(it.getInt(it.getInt(bytes.size - 6) + 42)) }

    fun member(name: String): String = ZipFile(file).use { it.getInputStream(it.getEntry(name)).readBytes().decodeToString() }

    /** Signatures of some names, as metadata list them, the second one with vectors of three numbers. */
    fun signatures(vararg names: String) = JSONArray(names.map { JSONObject().put("name", it).put("dimension", 3) })

    fun json(change: JSONObject.() -> Unit): JSONObject = JSONObject(json.toString()).apply(change)

    /** Returns a file with another `retvec_lite.json`, zipped like Python's zipfile: offsets count from the start of the model. */
    fun with(json: String, model: ByteArray = this.model): ByteBuffer {
        val zipped = ByteArrayOutputStream()
        ZipOutputStream(zipped).use { zip ->
            for ((name, text) in mapOf("retvec_lite.json" to json, "labels.txt" to member("labels.txt"))) {
                val content = text.toByteArray()
                val entry = ZipEntry(name).apply {
                    method = ZipEntry.STORED
                    size = content.size.toLong()
                    crc = CRC32().apply { update(content) }.value
                }
                zip.putNextEntry(entry)
                zip.write(content)
                zip.closeEntry()
            }
        }
        val tail = buffer(zipped.toByteArray())
        val end = tail.capacity() - 22
        var entry = tail.getInt(end + 16)
        repeat(tail.getShort(end + 10).toInt()) {
            tail.putInt(entry + 42, tail.getInt(entry + 42) + model.size)
            entry += 46 + tail.getShort(entry + 28) + tail.getShort(entry + 30) + tail.getShort(entry + 32)
        }
        tail.putInt(end + 16, tail.getInt(end + 16) + model.size)
        return buffer(model + tail.array())
    }

    fun buffer(bytes: ByteArray): ByteBuffer = ByteBuffer.wrap(bytes).order(LITTLE_ENDIAN)
}

/** A fake runtime that records its calls. */
internal class FakeEngine : Engine {
    val runs = mutableListOf<String>()
    var input = IntArray(0)
    var isClosed = false
    var isRecording = true

    override fun run(signature: String, inputs: Map<String, Any>, outputs: Map<String, Any>) {
        check(!isClosed) { "The interpreter has already been closed." }
        if (!isRecording) return
        runs += signature
        input = ((inputs.getValue("codepoints") as Array<*>).single() as IntArray).copyOf()
        val result = (outputs.values.first() as Array<*>).single() as FloatArray
        result.fill(runs.size.toFloat())
    }

    override fun close() {
        isClosed = true
    }
}
