package org.retveclite

import org.json.JSONArray
import org.json.JSONObject
import org.junit.Assert.assertEquals
import org.junit.Assert.assertThrows
import org.junit.Assert.assertTrue
import org.junit.Test
import java.io.File
import java.io.IOException
import java.nio.ByteBuffer

/** Files that are not whole models of this contract are refused before the runtime sees them. */
class UnsupportedModelTest {
    private fun refused(file: ByteBuffer, vararg parts: String, code: String = "RVL_DAMAGED") {
        val problem = assertThrows(RetvecError::class.java) {
            TextClassifier(file) { throw AssertionError("The runtime received an unsupported model.") }
        }
        assertEquals(code, problem.code)
        for (part in parts) assertTrue("No \"$part\" in: ${problem.message}", part in problem.message!!)
    }

    @Test
    fun aFileOfAnotherKind() {
        refused(ModelFile.buffer("PNG, or whatever it may be".toByteArray()), "not a .tflite model", code = "RVL_NOT_RETVEC")
    }

    @Test
    fun anEmptyFile() = refused(ModelFile.buffer(ByteArray(0)), "(0 bytes)")

    @Test
    fun aModelOfAnotherTool() = refused(ModelFile.buffer(ModelFile.model), "no readable metadata", "another tool")

    @Test
    fun aFileCutShortAnywhere() {
        for (missing in listOf(1, 7, 22, 100, 500, 2_000, ModelFile.bytes.size / 2, ModelFile.bytes.size - 9)) {
            refused(ModelFile.buffer(ModelFile.bytes.copyOf(ModelFile.bytes.size - missing)), "cut short")
        }
    }

    @Test
    fun metadataOfAnotherFormat() {
        refused(ModelFile.with(ModelFile.json { put("format", "other") }.toString()), "format other", "not retvec-lite", code = "RVL_NOT_RETVEC")
    }

    @Test
    fun anotherContract() {
        for (version in listOf(2, 4)) {
            val json = ModelFile.json { put("contract_version", version).put("model_sha256", "whatever another contract does with it") }
            refused(ModelFile.with(json.toString()), "contract version $version", "this class 3", code = "RVL_VERSION")
        }
    }

    @Test
    fun aModelWithAChangedWeight() {
        val changed = ModelFile.model.clone().also { it[it.size / 2] = (it[it.size / 2] + 1).toByte() }
        refused(ModelFile.with(ModelFile.json.toString(), changed), "SHA-256", "changed", code = "RVL_CHANGED")
    }

    @Test
    fun metadataWithAChangedByte() {
        val changed = ModelFile.bytes.clone()
        val place = String(changed, Charsets.ISO_8859_1).indexOf("\"contract_version\"")
        changed[place + 3] = 'X'.code.toByte()
        refused(ModelFile.buffer(changed), "no readable metadata")
    }

    @Test
    fun metadataThatIsNotJson() = refused(ModelFile.with("[]"), "no readable metadata")

    @Test
    fun metadataWithAMissingKey() {
        for (key in listOf("format", "contract_version", "model_sha256", "labels", "encoder", "signatures")) {
            refused(ModelFile.with(ModelFile.json { remove(key) }.toString()), "no readable metadata")
        }
    }

    @Test
    fun otherSignatures() {
        for (names in listOf(listOf(), listOf("embed"), listOf("embed", "classify"), listOf("classify", "classify_16"), listOf("classify", "embed", "embed"))) {
            val json = ModelFile.json { put("signatures", ModelFile.signatures(*names.toTypedArray())) }
            refused(ModelFile.with(json.toString()), "no readable metadata")
        }
        val without = ModelFile.signatures("classify", "embed").apply { getJSONObject(1).remove("dimension") }
        refused(ModelFile.with(ModelFile.json { put("signatures", without) }.toString()), "no readable metadata")
    }

    @Test
    fun aDecisionForOtherLabels() {
        for (name in listOf("thresholds", "shares")) {
            val decision = JSONObject().put("characters", "").put("unknown_power", 0).put(name, JSONArray(listOf(0.5)))
            refused(ModelFile.with(ModelFile.json { put("decision", decision) }.toString()), "no readable metadata")
        }
    }

    @Test
    fun aMissingFile() {
        val problem = assertThrows(RetvecError::class.java) { TextClassifier(File("no/such/model.tflite")) }
        assertEquals("CANNOT_LOAD", problem.code)
        assertTrue(problem.cause is IOException)
    }
}
