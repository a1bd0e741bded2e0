package org.retveclite

import org.junit.Assert.assertArrayEquals
import org.junit.Assert.assertEquals
import org.junit.Assert.assertTrue
import org.junit.Assume.assumeTrue
import org.junit.Test
import org.tensorflow.lite.support.metadata.MetadataExtractor
import java.io.File
import kotlin.math.abs

/** Compares the model in the assets, on a real runtime, with the golden probabilities from Python. */
class ExportedModelTest {
    private val golden = Golden(javaClass.getResourceAsStream("/golden.json")!!)

    @Test
    fun modelIsSmallEnoughForAnyApp() {
        assertTrue("${ModelFile.bytes.size} bytes", ModelFile.bytes.size <= 385_000)
    }

    @Test
    fun labelsComeFromTheFile() {
        TextClassifier(ModelFile.buffer(ModelFile.bytes)) { FakeEngine() }.use { classifier ->
            assertEquals(golden.labels, classifier.labels)
        }
    }

    @Test
    fun theMetadataLibraryOfTensorFlowLiteReadsTheMetadata() {
        val extractor = MetadataExtractor(ModelFile.buffer(ModelFile.bytes))
        assertTrue(extractor.hasMetadata())
        assertEquals(setOf("retvec_lite.json", "labels.txt"), extractor.associatedFileNames)
        fun text(name: String) = extractor.getAssociatedFile(name).use { it.readBytes().decodeToString() }
        assertEquals(ModelFile.member("retvec_lite.json"), text("retvec_lite.json"))
        val classifier = TextClassifier(ModelFile.buffer(ModelFile.bytes)) { FakeEngine() }
        assertEquals(classifier.labels, text("labels.txt").trim().lines())
        assertArrayEquals(intArrayOf(1, golden.labels.size), extractor.getOutputTensorShape(0))
        assertEquals(
            ModelFile.json.getJSONObject("encoder").getInt("max_chars"),
            extractor.getInputTensorShape(0)[1],
        )
        assertEquals("labels.txt", extractor.getOutputTensorMetadata(0)!!.associatedFiles(0).name())
    }

    @Test
    fun answersMatchPython() {
        assertEquals(golden.recipe, ModelFile.json.getString("recipe"))
        TextClassifier(ModelFile.file.readBytes().let(ModelFile::buffer), ::TensorFlowLite).use { classifier ->
            for (case in golden.cases + golden.long) {
                val text = case.text ?: continue
                assertArrayEquals(case.name, case.probabilities(golden.recipe), classifier.probabilities(text), golden.tolerance)
            }
        }
    }

    @Test
    fun goldenFilesGiveTheAnswersOfEveryPackage() {
        for (name in listOf("rejecting", "several")) {
            val golden = Golden(File("../../golden/$name.json").inputStream())
            val file = ModelFile.buffer(File("../../golden/$name.tflite").readBytes())
            TextClassifier(file, ::TensorFlowLite).use { classifier ->
                for (case in (golden.cases + golden.long).filter { it.text != null }) {
                    val expected = case.probabilities(golden.recipe)
                    assertArrayEquals("$name, ${case.name}", expected, classifier.probabilities(case.text!!), golden.tolerance)
                    if (!case.hasLabel(golden.recipe)) continue
                    val labels = if (name == "several") case.labels(golden.recipe) else listOfNotNull(case.label(golden.recipe))
                    assertEquals("$name, ${case.name}", labels.toSet(), classifier.predictAll(case.text).map { it.label }.toSet())
                }
            }
        }
    }

    @Test
    fun goldenTextsAreExplainedAsTheyAreGiven() {
        for (file in listOf("rejecting", "several").map { File("../../golden/$it.tflite") }) {
            TextClassifier(ModelFile.buffer(file.readBytes()), ::TensorFlowLite).use { checkExplanations(file, it::explain) }
        }
    }

    @Test
    fun labelsMatchPythonAndSomeTextsHaveNone() {
        val cases = (golden.cases + golden.long).filter { it.text != null && it.hasLabel(golden.recipe) }
        val unread = setOf("empty", "only spaces", "punctuation", "Khmer")
        val none = cases.filter { it.label(golden.recipe) == null }.map { it.name.removeSuffix(", condensed") }
        assertTrue("$none", none.containsAll(unread) && none.size > unread.size)
        assertTrue(cases.any { it.label(golden.recipe) != null })
        TextClassifier(ModelFile.buffer(ModelFile.bytes), ::TensorFlowLite).use { classifier ->
            for (case in cases) {
                val (label, probability) = classifier.predict(case.text!!)
                assertEquals(case.name, case.label(golden.recipe), label)
                assertEquals(case.name, case.probabilities(golden.recipe).max(), probability, golden.tolerance)
                assertTrue(case.name, classifier.predict(case.text, reject = false).label != null)
            }
        }
    }

    @Test
    fun codePointsOutsideAnyTextAreHarmless() {
        val maxChars = ModelFile.json.getJSONObject("encoder").getInt("max_chars")
        val cases = golden.cases.filter { it.text == null }
        assertTrue(cases.isNotEmpty())
        TensorFlowLite(ModelFile.buffer(ModelFile.bytes)).use { runtime ->
            for (case in cases) {
                val result = FloatArray(golden.labels.size)
                val inputs = mapOf("codepoints" to arrayOf(case.codePoints.copyOf(maxChars)))
                runtime.run("classify", inputs, mapOf("probabilities" to arrayOf(result)))
                assertArrayEquals(case.name, case.probabilities(golden.recipe), result, golden.tolerance)
            }
        }
    }

    @Test
    fun aMistypedTextIsNearTheIntendedOne() {
        TextClassifier(ModelFile.buffer(ModelFile.bytes), ::TensorFlowLite).use { classifier ->
            assumeTrue("The model in the assets was exported without --embed.", classifier.embeddingSize > 0)
            fun dot(a: FloatArray, b: FloatArray) = a.indices.sumOf { (a[it] * b[it]).toDouble() }
            val meant = classifier.embed("will it rain tomorrow in Paris")
            val mistyped = classifier.embed("wlil it rian tomorow in Pairs")
            val other = classifier.embed("Ihr Paket wird heute zugestellt")
            assertEquals(1.0, dot(meant, meant), 1e-4)
            assertTrue(dot(meant, mistyped) > dot(meant, other) + 0.2)
            assertEquals(0.0, classifier.embed(" \n ").sumOf { abs(it).toDouble() }, 0.0)
        }
    }

    @Test
    fun shortAndFullGraphsAgree() {
        val engine = TensorFlowLite(ModelFile.buffer(ModelFile.bytes))
        val maxChars = ModelFile.json.getJSONObject("encoder").getInt("max_chars")
        TextClassifier(ModelFile.buffer(ModelFile.bytes)) { engine }.use { classifier ->
            for (words in 0..maxChars / 3) {
                val text = List(words) { "w${it % 10}" }.joinToString(" ")
                val full = FloatArray(classifier.labels.size)
                val input = IntArray(maxChars) { if (it < text.length) text[it].code else 0 }
                engine.run("classify", mapOf("codepoints" to arrayOf(input)), mapOf("probabilities" to arrayOf(full)))
                assertArrayEquals("$words words", full, classifier.probabilities(text), 1e-4f)
            }
        }
    }

    @Test
    fun typosDoNotChangeTheLabel() {
        TextClassifier(ModelFile.buffer(ModelFile.bytes), ::TensorFlowLite).use { classifier ->
            fun label(text: String) = classifier.probabilities(text).let { all -> classifier.labels[all.indices.maxByOrNull { all[it] }!!] }
            assertEquals("music", label("play some jazz"))
            assertEquals("music", label("plya smoe jzaz"))
            assertEquals("one_time_code", label("Your verification code is 482913"))
            assertEquals("one_time_code", label("Yuor verifcation cdoe is 482913"))
        }
    }
}
