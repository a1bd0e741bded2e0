package org.retveclite

import org.junit.Assert.assertArrayEquals
import org.junit.Test
import java.io.File

/** Compares the native engine with the golden probabilities from Python. */
class RetvecClassifierDeviceTest {
    private val assets = instrumentation().context.assets

    @Test
    fun answersMatchPython() {
        for (name in listOf("plain", "rejecting", "several")) {
            val file = File(instrumentation().targetContext.cacheDir, "$name.retvec")
            assets.open("$name.retvec").use { asset -> file.outputStream().use { asset.copyTo(it) } }
            val golden = Golden(assets.open("$name.json"), engine = true)
            RetvecClassifier(file).use { classifier ->
                for (case in (golden.cases + golden.long).filter { it.text != null }) {
                    val expected = case.probabilities(golden.recipe)
                    assertArrayEquals("$name, ${case.name}", expected, classifier.probabilities(case.text!!), golden.tolerance)
                }
            }
        }
    }
}
