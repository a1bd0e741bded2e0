package org.retveclite

import org.json.JSONArray
import org.json.JSONObject
import org.junit.Assert.assertArrayEquals
import org.junit.Assert.assertEquals
import org.junit.Assert.assertFalse
import org.junit.Assert.assertThrows
import org.junit.Assert.assertTrue
import org.junit.Assume.assumeTrue
import org.junit.Before
import org.junit.Rule
import org.junit.Test
import org.junit.rules.TemporaryFolder
import java.io.File

/** Compares what the engine answers after it was taught with golden/taught.json. */
class MemoryTest {
    @get:Rule
    val folder = TemporaryFolder()

    private val golden = JSONObject(File("../../golden/taught.json").readText())
    private val file = File("../../golden/taught.memory")

    private fun <T> JSONArray.map(convert: JSONArray.(Int) -> T) = List(length()) { convert(it) }
    private fun JSONArray.pair(at: Int) = getJSONArray(at).run { getString(0) to getString(1) }
    private fun JSONObject.orNull(name: String) = if (isNull(name)) null else getString(name)

    private fun pairs(name: String) = golden.getJSONArray(name).map { pair(it) }

    private fun with(name: String, test: (RetvecClassifier) -> Unit) = RetvecClassifier(File("../../golden/$name.retvec")).use(test)

    private fun withBoth(test: (RetvecClassifier, List<JSONObject>) -> Unit) = listOf("plain", "rejecting").forEach { name ->
        with(name) { test(it, golden.getJSONArray(name).map { at -> getJSONObject(at) }) }
    }

    @Before
    fun theEngineIsThere() =
        assumeTrue(File(System.getProperty("java.library.path"), System.mapLibraryName("retvec_lite")).exists())

    private fun answers(classifier: RetvecClassifier, cases: List<JSONObject>) = cases.map { classifier.predict(it.getString("text")) }

    private fun check(classifier: RetvecClassifier, cases: List<JSONObject>, before: List<Prediction>) {
        assertEquals(pairs("kept"), classifier.memory.texts)
        assertEquals(pairs("kept").map { it.second }.distinct(), classifier.memory.labels)
        assertEquals(classifier.memory.texts.size, classifier.memory.size)
        for ((case, old) in cases.zip(before)) {
            val text = case.getString("text")
            val found = classifier.predict(text)
            assertEquals(text, case.orNull("label"), found.label)
            assertEquals(text, case.orNull("taught"), found.taught)
            assertEquals(text, listOf(found).filter { it.label != null }, classifier.predictAll(text))
            assertEquals(text, found, if (found.taught == null) old else classifier.predict(text, reject = false))
        }
    }

    @Test
    fun answersAreThoseOfPythonAndSoIsTheFile() = withBoth { classifier, cases ->
        val before = answers(classifier, cases)
        for ((text, label) in pairs("lessons")) classifier.teach(text, label)
        check(classifier, cases, before)
        val saved = File(folder.root, "saved.memory")
        repeat(2) { classifier.memory.save(saved) }
        assertArrayEquals(file.readBytes(), saved.readBytes())
        assertEquals(listOf("saved.memory"), folder.root.list()!!.sorted())
        classifier.memory.clear()
        classifier.memory.load(saved)
        check(classifier, cases, before)
    }

    @Test
    fun whatIsForgottenLeavesNoTrace() = withBoth { classifier, cases ->
        val before = answers(classifier, cases)
        val ways = listOf({ classifier.memory.clear() }, { for ((text) in pairs("kept")) classifier.forget(text) })
        for (forget in ways) {
            classifier.memory.load(file)
            forget()
            assertEquals(0, classifier.memory.size)
            assertEquals(before, answers(classifier, cases))
        }
    }

    @Test
    fun thereIsRoomForMoreAndMore() = with("rejecting") { classifier ->
        val numbers = (300 until 600).filter { it % 111 != 0 }
        for (number in numbers) classifier.teach("pets $number", "label ${number % 7}")
        for (number in numbers.take(40)) classifier.teach("$number ${"parcel ".repeat(60)}", "long")
        assertEquals(numbers.size + 40, classifier.memory.size)
        assertEquals("pets 317", classifier.predict("pets 317").taught)
        val saved = File(folder.root, "saved.memory").also(classifier.memory::save)
        val texts = classifier.memory.texts
        with("plain") { other ->
            other.memory.load(saved)
            assertEquals(texts, other.memory.texts)
        }
    }

    @Test
    fun nothingChangesWhereSomethingIsWrong() = with("rejecting") { classifier ->
        classifier.memory.load(file)
        fun message(call: () -> Unit) = assertThrows(RetvecError::class.java, call).message!!
        for (label in listOf("", "\u0000", "pets\u0000", "a\nb", "\uD800", "x".repeat(256))) {
            assertTrue(message { classifier.teach("feed the cat", label) }.startsWith("This is no label"))
        }
        assertTrue(message { classifier.teach(" \u200B ", "pets") }.startsWith("Nothing is left to read"))
        assertEquals("This text was not taught.", message { classifier.forget("never taught") })
        val bytes = file.readBytes()
        val other = File(folder.root, "other.memory")
        for (end in bytes.indices step 7) {
            other.writeBytes(bytes.copyOf(end))
            assertThrows(RetvecError::class.java) { classifier.memory.load(other) }
        }
        assertTrue(other.delete())
        fun code(call: () -> Unit) = assertThrows(RetvecError::class.java, call).code
        assertEquals("CANNOT_LOAD", code { classifier.memory.load(other) })
        assertEquals("CANNOT_SAVE", code { classifier.memory.save(File(folder.root, "missing/other.memory")) })
        assertEquals("RVL_NOT_TAUGHT", code { classifier.forget("never taught") })
        assertEquals(pairs("kept"), classifier.memory.texts)
    }

    @Test
    fun aFileThatCannotBeReplacedStays() = with("plain") { classifier ->
        classifier.memory.load(file)
        val taken = folder.newFolder("taken").also { File(it, "in it").createNewFile() }
        assertEquals("CANNOT_SAVE", assertThrows(RetvecError::class.java) { classifier.memory.save(taken) }.code)
        assertEquals(listOf("in it"), taken.list()!!.asList())
        assertEquals(listOf("taken"), folder.root.list()!!.asList())
    }

    @Test
    fun whoeverSavesTheFileIsThereAndWhole() {
        val saved = File(folder.root, "saved.memory")
        val left = File(folder.root, ".saved.memory.retvec-lite-new1").apply { createNewFile() && setLastModified(1) }
        val saver = { name: String ->
            with("rejecting") { classifier ->
                for (number in 300 until 400) classifier.teach("$name $number", "pets")
                repeat(40) {
                    classifier.memory.save(saved)
                    with("plain") { other ->
                        other.memory.load(saved)
                        assertEquals(100, other.memory.size)
                    }
                }
            }
        }
        together(listOf("cats", "dogs", "birds").map { name -> { saver(name) } })
        assertEquals(listOf("saved.memory"), folder.root.list()!!.asList())
        assertFalse(left.exists())
    }

    @Test
    fun aModelWithSeveralLabelsCannotBeTaught() = with("several") { classifier ->
        val problem = assertThrows(RetvecError::class.java) { classifier.teach("a text", "label") }
        assertTrue(problem.message!!.startsWith("This classifier cannot be taught"))
        assertEquals(0, classifier.memory.size)
        assertThrows(RetvecError::class.java) { classifier.memory.load(file) }
    }
}
