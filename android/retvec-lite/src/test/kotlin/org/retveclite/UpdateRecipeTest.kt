package org.retveclite

import org.json.JSONArray
import org.json.JSONObject
import org.junit.Assert.assertEquals
import org.junit.Assert.assertNull
import org.junit.Assert.assertThrows
import org.junit.Assert.assertTrue
import org.junit.Rule
import org.junit.Test
import org.junit.rules.TemporaryFolder
import java.io.File
import java.net.URLClassLoader
import java.security.KeyPairGenerator
import java.security.MessageDigest
import java.security.Signature

/** The recipe of docs/updates.md, with a real model and files that a server or a disk has spoiled. */
class UpdateRecipeTest {
    @get:Rule
    val folder = TemporaryFolder()

    private val model = File("../../golden/plain.retvec").readBytes()
    private val other = File("../../golden/several.retvec").readBytes()
    private val keys = KeyPairGenerator.getInstance("Ed25519").generateKeyPair()
    private val labels = RetvecClassifier(File("../../golden/plain.retvec")).use { it.predictAll(TEXT).map { answer -> answer.label } }
    private val models get() = models()

    private fun models(bundled: Int = 1) = Models(folder.root, bundled, hex(keys.public.encoded.takeLast(32).toByteArray()))

    private fun hex(bytes: ByteArray) = bytes.joinToString("") { (it.toInt() and 255).toString(16).padStart(2, '0') }

    private fun install(version: Int, listed: ByteArray = model, sent: ByteArray = listed, contract: Int = 3, answer: List<String?> = labels) {
        val file = JSONObject().put("file", "classifier-int8.retvec").put("bytes", listed.size)
            .put("sha256", hex(MessageDigest.getInstance("SHA-256").digest(listed)))
        val manifest = JSONObject().put("format", "retvec-lite-manifest").put("manifest_version", 1).put("contract_version", contract)
            .put("name", "router").put("version", version).put("labels", JSONArray(listOf("a", "b")))
            .put("texts", JSONArray(listOf(JSONObject().put("text", TEXT).put("labels", JSONArray(answer)))))
            .put("files", JSONArray(listOf(file))).toString().toByteArray()
        val signer = Signature.getInstance("Ed25519").apply { initSign(keys.private) }
        models.install(manifest, signer.apply { update(manifest) }.sign(), sent)
    }

    private fun kept() = folder.root.list()!!.sorted()

    @Test
    fun anUpdateIsUsedAndOnlyANewerOneAfterIt() {
        assertNull(models.open())
        install(7)
        models.open()!!.close()
        for (version in listOf(7, 6)) {
            val error = assertThrows(RetvecError::class.java) { install(version) }
            assertEquals("UPDATE_OLD", error.code)
        }
        assertNull(models(bundled = 7).open()) // a newer app brings as new a model
        install(8)
        install(9)
        assertEquals(listOf("8.retvec", "9.retvec"), kept())
    }

    @Test
    fun halfSwappedAndWrongFilesChangeNothing() {
        val half = model.copyOf(model.size - 64)
        val faults = mapOf(
            "UPDATE_FILE" to listOf({ install(7, sent = half) }, { install(7, sent = other) }),
            "UPDATE_ANSWERS" to listOf({ install(7, answer = emptyList()) }),
            "UPDATE_CONTRACT" to listOf({ install(7, contract = 4) }),
        )
        for ((code, installs) in faults) {
            for (fault in installs) assertEquals(code, assertThrows(RetvecError::class.java) { fault() }.code)
        }
        assertThrows(RetvecError::class.java) { install(7, listed = half) } // signed, but no model
        assertEquals(emptyList<String>(), kept())
        install(7)
        assertEquals(listOf("7.retvec"), kept())
    }

    @Test
    fun aVersionThatWasRolledBackIsNeverTakenAgain() {
        install(7)
        install(8)
        models.rollBack(8)
        models.open()!!.close()
        assertEquals("UPDATE_OLD", assertThrows(RetvecError::class.java) { install(8) }.code)
        File(folder.root, "7.retvec").writeText("spoiled by the disk")
        assertNull(models.open())
        assertEquals(listOf("7.bad", "8.bad"), kept())
        install(9)
        models.open()!!.close()
    }

    @Test
    fun whatIsNoFaultOfTheFileRollsNothingBack() {
        install(7)
        // A library belongs to one class loader: in another one, there is no engine.
        val classes = System.getProperty("java.class.path").split(File.pathSeparator).map { File(it).toURI().toURL() }
        val loader = URLClassLoader(classes.toTypedArray(), ClassLoader.getSystemClassLoader().parent)
        val models = loader.loadClass(Models::class.java.name).constructors.single()
        val without = models.newInstance(folder.root, 1, "")
        assertNull(without.javaClass.getMethod("open").invoke(without))
        val spoiled = File(folder.root, "7.retvec")
        assertTrue(spoiled.delete() && spoiled.mkdir()) // cannot be read
        assertNull(models().open())
        assertEquals(listOf("7.retvec"), kept())
    }

    @Test
    fun severalMayInstallAtOnceWhileModelsAreOpen() {
        install(7)
        models().open()!!.use { open ->
            together(
                List(3) {
                    {
                        for (version in 8..30) {
                            try {
                                install(version)
                            } catch (error: RetvecError) {
                                assertEquals("UPDATE_OLD", error.code)
                            }
                            open.predict(TEXT)
                        }
                    }
                },
            )
            assertEquals(labels, open.predictAll(TEXT).map { it.label })
        }
        assertEquals(listOf("29.retvec", "30.retvec"), kept())
    }

    private companion object {
        const val TEXT = "where is my parcel"
    }
}
