package org.retveclite

import org.junit.Assert.assertArrayEquals
import org.junit.Assert.assertEquals
import org.junit.Assert.assertThrows
import org.junit.Assert.assertTrue
import org.junit.Test
import java.io.File

/** Compares the model in the assets, on LiteRT, with the golden probabilities from Python. */
class TextClassifierDeviceTest {
    private val context = instrumentation().targetContext
    private val golden = Golden(instrumentation().context.assets.open("golden.json"))

    @Test
    fun answersMatchPython() {
        TextClassifier(context).use { classifier ->
            assertEquals(golden.labels, classifier.labels)
            for (case in golden.cases) {
                val text = case.text ?: continue
                assertArrayEquals(case.name, case.probabilities(golden.recipe), classifier.probabilities(text), golden.tolerance)
            }
        }
    }

    @Test
    fun aFileGivesTheAnswersOfTheAsset() {
        val file = File(context.cacheDir, "model.tflite")
        context.assets.open("classifier.tflite").use { asset -> file.outputStream().use { asset.copyTo(it) } }
        val text = "Where is my parcel?"
        val expected = TextClassifier(context).use { it.probabilities(text) }
        assertArrayEquals(expected, TextClassifier(file).use { it.probabilities(text) }, 0f)
        assertTrue(file.delete())
    }

    @Test
    fun aMissingAsset() {
        assertEquals("CANNOT_LOAD", assertThrows(RetvecError::class.java) { TextClassifier(context, "nothing.tflite") }.code)
    }

    @Test
    fun aClosedClassifierRunsNothing() {
        val classifier = TextClassifier(context)
        classifier.close()
        assertThrows(RetvecError::class.java) { classifier.probabilities("hi") }
    }
}
