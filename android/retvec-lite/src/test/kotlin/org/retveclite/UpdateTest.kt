package org.retveclite

import org.json.JSONArray
import org.json.JSONObject
import org.junit.Assert.assertEquals
import org.junit.Assert.assertThrows
import org.junit.Assert.assertTrue
import org.junit.Test
import java.io.File
import java.lang.reflect.InvocationTargetException
import java.net.URLClassLoader
import java.security.Provider
import java.security.Security

/** The updates that Python and JavaScript take and refuse as well. */
class UpdateTest {
    private val cases = JSONArray(File("../../tests/data/updates.json").readText()).let { list -> List(list.length(), list::getJSONObject) }

    private fun hex(digits: String) = ByteArray(digits.length / 2) { digits.substring(2 * it, 2 * it + 2).toInt(16).toByte() }

    private fun verified(case: JSONObject, provider: Provider? = null) = Update.verify(
        case.getString("manifest").toByteArray(),
        hex(case.getString("signature")),
        case.getString("key"),
        case.getString("model"),
        case.getInt("installed"),
        provider,
    )

    private fun taken(case: JSONObject) = verified(case).apply {
        check(case.getString("file"), case.getString("content").toByteArray())
        tryTexts { text ->
            val labels = case.getJSONObject("answers").getJSONArray(text)
            List(labels.length(), labels::getString)
        }
    }

    @Test
    fun everyUpdateIsTakenOrRefusedWithItsCode() {
        for (case in cases.filter { it.get("installed") is Int }) { // the compiler refuses the others
            val name = case.getString("name")
            val found = try {
                assertEquals(name, case.getString("model"), taken(case).name)
                null
            } catch (error: RetvecError) {
                assertTrue(name, Regex("[^\n]+\\.").matches(error.message!!))
                error.code
            }
            assertEquals(name, if (case.isNull("code")) null else case.getString("code"), found)
        }
        val tested = cases.filterNot { it.isNull("code") }.map { it.getString("code") }.toSet()
        val all = listOf("KEY", "SIGNATURE", "MANIFEST", "NAME", "OLD", "INSTALLED", "CONTRACT", "FILE", "ANSWERS").map { "UPDATE_$it" }
        assertEquals(all.toSet(), tested)
    }

    @Test
    fun anUpdateSaysWhatItHolds() {
        val update = taken(cases.first())
        assertEquals(7, update.version)
        assertEquals(listOf("delivery", "gift", "größe"), update.labels)
        assertEquals(mapOf("classifier-int8.retvec" to 20, "classifier-int4.retvec" to 20), update.files)
        update.tryTexts { text -> update.texts.first { it.first == text }.second + null } // no label is none
    }

    /** As on phones: the first provider names the algorithm, and takes no key from outside. */
    @Suppress("DEPRECATION") // the constructor that all versions have
    private class KeyStore : Provider("AndroidKeyStoreBCWorkaround", 1.0, "") {
        init {
            put("KeyFactory.Ed25519", "none.KeyFactory")
            put("Signature.Ed25519", "none.Signature")
        }
    }

    @Test
    fun theProviderIsThatOfTheApp() {
        val own = Security.getProvider("SunEC")
        assertEquals(7, verified(cases.first(), own).version)
        Security.insertProviderAt(KeyStore(), 1)
        try {
            assertEquals(7, verified(cases.first()).version)
        } finally {
            Security.removeProvider(KeyStore().name)
        }
        val without = Security.getProvider("SUN")
        val error = assertThrows(RetvecError::class.java) { verified(cases.first(), without) }
        assertEquals("UPDATE_PLATFORM", error.code)
    }

    @Test
    fun aJvmWithoutAReaderOfJsonSaysSo() {
        val classes = System.getProperty("java.class.path").split(File.pathSeparator).filterNot { "android-all" in it || "json" in it }
        val loader = URLClassLoader(classes.map { File(it).toURI().toURL() }.toTypedArray(), ClassLoader.getSystemClassLoader().parent)
        val bytes = ByteArray::class.java
        val verify = loader.loadClass(Update::class.java.name).getMethod("verify", bytes, bytes, String::class.java, String::class.java)
        val case = cases.first()
        val error = assertThrows(InvocationTargetException::class.java) {
            verify.invoke(null, case.getString("manifest").toByteArray(), hex(case.getString("signature")), case.getString("key"), "router")
        }.targetException
        assertEquals("UPDATE_PLATFORM", error.javaClass.getMethod("getCode").invoke(error))
        assertTrue(error.message!!.contains("org.json:json"))
    }
}
