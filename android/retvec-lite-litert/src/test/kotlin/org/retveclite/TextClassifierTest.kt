package org.retveclite

import org.json.JSONArray
import org.json.JSONObject
import org.junit.Assert.assertArrayEquals
import org.junit.Assert.assertEquals
import org.junit.Assert.assertSame
import org.junit.Assert.assertThrows
import org.junit.Assert.assertTrue
import org.junit.Test
import kotlin.concurrent.thread
import kotlin.math.exp
import kotlin.math.ln

class TextClassifierTest {
    private val engine = FakeEngine()
    private val maxChars = ModelFile.json.getJSONObject("encoder").getInt("max_chars")

    private fun having(engine: Engine, vararg signatures: String): TextClassifier {
        val json = ModelFile.json { put("signatures", ModelFile.signatures(*signatures)) }
        return TextClassifier(ModelFile.with(json.toString())) { engine }
    }

    private fun single(engine: Engine) = having(engine, "classify")

    @Test
    fun codePointsMatchPython() {
        val golden = Golden(javaClass.getResourceAsStream("/golden.json")!!)
        val texts = golden.cases.filter { it.text != null }
        assertTrue(texts.size > 50)
        assertTrue(texts.any { it.name.endsWith(", condensed") })
        val classifier = single(engine)
        for (case in texts) {
            classifier.probabilities(case.text!!)
            assertArrayEquals(case.name, case.codePoints.copyOf(maxChars), engine.input)
        }
    }

    @Test
    fun anEmojiIsOneCodePointAndUnpairedSurrogatesAreReplaced() {
        single(engine).probabilities("a\uD83D\uDE00b\uD800c\uDC00\uD800")
        assertArrayEquals(intArrayOf(0x61, 0x1F600, 0x62, 0xFFFD, 0x63, 0xFFFD, 0xFFFD, 0), engine.input.copyOf(8))
    }

    @Test
    fun decomposedTextIsComposed() {
        val classifier = single(engine)
        classifier.probabilities("ngu\u031Bo\u031B\u0300i cafe\u0301")
        assertArrayEquals("người café".codePoints().toArray().copyOf(maxChars), engine.input)
        classifier.probabilities("e\u0301o\u0301".repeat(maxChars / 2))
        assertArrayEquals(IntArray(maxChars) { if (it % 2 == 0) 0xE9 else 0xF3 }, engine.input)
    }

    @Test
    fun aTextIsCondensed() {
        single(engine).probabilities(" f - r - e - e   <b>m&#111;ney</b>!!!!!!!!!!!!%20now cafe\u0301 \uD83D")
        assertArrayEquals("free money!!!!!!!!!!!! now caf\u00e9 \uFFFD".codePoints().toArray().copyOf(maxChars), engine.input)
    }

    @Test
    fun aShortTextClearsALongerOne() {
        val classifier = single(engine)
        classifier.probabilities("a long text with many words")
        classifier.probabilities("hi")
        assertArrayEquals(intArrayOf(0x68, 0x69).copyOf(maxChars), engine.input)
        classifier.probabilities("")
        assertArrayEquals(IntArray(maxChars), engine.input)
    }

    @Test
    fun aTextOfAnyLengthIsClassified() {
        val classifier = having(engine, "classify", "embed")
        for (text in listOf("", "hi", "more words and more characters ".repeat(3))) classifier.probabilities(text)
        assertEquals(List(3) { "classify" }, engine.runs)
        assertEquals(maxChars, engine.input.size)
    }

    @Test
    fun aLongTextIsAnsweredByItsWindows() {
        val classifier = single(engine)
        val text = "word ".repeat(maxChars / 5) + "Where is my parcel?"
        assertTrue("the fake answers 1, 1, ... to the first window and 2, 2, ... to the second", classifier.probabilities(text).last() in 1f..2f)
        assertEquals(listOf("classify", "classify"), engine.runs)
        assertTrue(String(engine.input, 0, maxChars).trimEnd('\u0000').endsWith("word Where is my parcel?"))
        assertEquals("a shorter text after it", 3f, classifier.probabilities("hi").last())
    }

    @Test
    fun windowsCountByWhatTheySay() {
        // All labels are equally probable in each window: 1, 1, ... and then 2, 2, ...
        val text = "word ".repeat(maxChars / 5) + "Where is my parcel?"
        fun answer(shares: List<Double>?, characters: String): Double {
            val decision = ModelFile.json.getJSONObject("decision").put("unknown_label", JSONObject.NULL).put("characters", characters)
            val json = ModelFile.json { put("decision", decision.put("shares", shares?.let(::JSONArray))) }
            return TextClassifier(ModelFile.with(json.toString())) { FakeEngine() }.use { it.probabilities(text).last().toDouble() }
        }
        val count = ModelFile.json.getJSONArray("labels").length()
        fun expected(share: Double): Double {
            val weights = (1..2).map { exp(2 * count * it * ln(it / share)) }
            return (weights[0] + 2 * weights[1]) / weights.sum()
        }
        assertEquals(expected(1.0 / count), answer(null, ""), 1e-5)
        assertEquals(expected(0.9), answer(List(count) { 0.9 }, "ow"), 1e-5)
        assertEquals("only the second window has a known letter", 2.0, answer(List(count) { 0.9 }, "?"), 0.0)
        assertEquals("no window has one", expected(0.9), answer(List(count) { 0.9 }, "z"), 1e-5)
    }

    @Test
    fun theEmbeddingOfALongTextIsTheMeanOfItsWindows() {
        val vector = having(engine, "classify", "embed").embed("word ".repeat(maxChars / 2))
        assertEquals(3, engine.runs.size)
        assertArrayEquals(FloatArray(3) { Math.sqrt(1 / 3.0).toFloat() }, vector, 1e-6f)
    }

    @Test
    fun embeddingsComeFromTheirOwnSignature() {
        val classifier = having(engine, "classify", "embed")
        assertEquals(3, classifier.embeddingSize)
        assertArrayEquals(floatArrayOf(1f, 1f, 1f), classifier.embed("hi"), 0f)
        assertEquals(listOf("embed"), engine.runs)
    }

    @Test
    fun aModelWithoutEmbeddingsSaysSo() {
        val classifier = single(engine)
        assertEquals(0, classifier.embeddingSize)
        val problem = assertThrows(RetvecError::class.java) { classifier.embed("hi") }
        assertTrue(problem.message, "--embed" in problem.message!!)
    }

    /** Labels a, none and b with the given probabilities. */
    private fun deciding(vararg probabilities: Float, decision: JSONObject.() -> Unit): TextClassifier {
        val fields = JSONObject().put("threshold", 0.5).put("unknown_label", "none").put("characters", "Aa\uD835\uDD38")
        val json = ModelFile.json {
            put("labels", JSONArray(listOf("a", "none", "b")))
            put("decision", fields.apply(decision))
        }
        val engine = object : Engine {
            override fun run(signature: String, inputs: Map<String, Any>, outputs: Map<String, Any>) {
                probabilities.copyInto((outputs.getValue("probabilities") as Array<*>).single() as FloatArray)
            }

            override fun close() = Unit
        }
        return TextClassifier(ModelFile.with(json.toString())) { engine }
    }

    @Test
    fun eachRuleAloneMakesATextUnknown() {
        assertEquals(Prediction("b", 0.5f), deciding(0.1f, 0.4f, 0.5f) {}.predict("a"))
        assertEquals("threshold", Prediction(null, 0.49f), deciding(0.2f, 0.31f, 0.49f) {}.predict("a"))
        assertEquals(Prediction("a", 0.65f), deciding(0.65f, 0.25f, 0.1f) { put("threshold", 1.25).put("unknown_power", 0.5) }.predict("a"))
        assertEquals(Prediction(null, 0.6f), deciding(0.6f, 0.25f, 0.1f) { put("threshold", 1.25).put("unknown_power", 0.5) }.predict("a"))
        val unlimited = deciding(0.1f, 0.5f, 0.4f) { put("threshold", JSONObject.NULL) }
        assertEquals("unknown label", Prediction(null, 0.4f), unlimited.predict("a"))
        assertEquals(Prediction("none", 0.5f), unlimited.predict("a", reject = false))
        val sure = deciding(0f, 0f, 1f) {}
        for (text in listOf("", " \n", "b?", "\uD835\uDD39", "bc ".repeat(16 * maxChars) + "a")) {
            assertEquals(text, Prediction(null, 1f), sure.predict(text))
            assertEquals(text, Prediction("b", 1f), sure.predict(text, reject = false))
        }
        for (text in listOf("A", "b a", "\uD835\uDD38", "bc ".repeat(10 * maxChars) + "a")) {
            assertEquals(text, Prediction("b", 1f), sure.predict(text))
        }
    }

    @Test
    fun knownLettersAreThoseOfTheCondensedText() {
        val sure = deciding(0f, 0f, 1f) {}
        for (text in listOf("<a>?", "b", "bc ".repeat(16 * maxChars) + "a")) assertEquals(text, Prediction(null, 1f), sure.predict(text))
        for (text in listOf("&#97;", "%41", " .".repeat(32 * maxChars) + "a")) assertEquals(text, Prediction("b", 1f), sure.predict(text))
    }

    @Test
    fun aTextHasEveryLabelThatReachesItsThreshold() {
        fun several(vararg probabilities: Float) = deciding(*probabilities) {
            put("threshold", JSONObject.NULL).put("unknown_label", JSONObject.NULL).put("thresholds", JSONArray(listOf(0.5, 0.25, 0.75)))
        }
        assertEquals(listOf(Prediction("none", 0.6f), Prediction("a", 0.5f)), several(0.5f, 0.6f, 0.74f).predictAll("a"))
        assertEquals("the most probable label is not an answer", Prediction("a", 0.5f), several(0.5f, 0.2f, 0.74f).predict("a"))
        assertEquals(emptyList<Prediction>(), several(0.49f, 0.24f, 0.74f).predictAll("a"))
        assertEquals(Prediction(null, 0.74f), several(0.49f, 0.24f, 0.74f).predict("a"))
        assertEquals("nothing to read", emptyList<Prediction>(), several(1f, 1f, 1f).predictAll("?"))
        val one = deciding(0.1f, 0.4f, 0.5f) {}
        assertEquals(listOf(Prediction("b", 0.5f)), one.predictAll("a"))
        assertEquals(emptyList<Prediction>(), one.predictAll("?"))
    }

    @Test
    fun aFileWithoutADecisionRejectsNothing() {
        val fields = listOf("threshold", "unknown_label")
        val old = deciding(0.2f, 0.5f, 0.3f) { fields.forEach { put(it, JSONObject.NULL) }.also { put("characters", "") } }
        assertEquals(Prediction("none", 0.5f), old.predict(""))
        assertTrue(TextClassifier(ModelFile.with(ModelFile.json { remove("decision") }.toString())) { engine }.predict("").label != null)
    }

    @Test
    fun aCallAllocatesNothingWhenGivenAnArray() {
        engine.isRecording = false
        allocatesNothing(single(engine))
    }

    private fun allocatesNothing(classifier: TextClassifier) {
        val into = FloatArray(classifier.labels.size)
        val texts = listOf("short f.r.e.e!!!!", "\uD83D\uDE00 and unpaired \uD83D", "word ".repeat(3_000))
        // Use reflection: Gradle compiles unit tests against android.jar, which has no java.lang.management.
        val bean = Class.forName("java.lang.management.ManagementFactory").getMethod("getThreadMXBean").invoke(null)
        val counter = Class.forName("com.sun.management.ThreadMXBean")
            .getMethod("getThreadAllocatedBytes", java.lang.Long.TYPE)

        @Suppress("DEPRECATION") // threadId() is not there in Java 17.
        val self = Thread.currentThread().id

        fun allocated() = counter.invoke(bean, self) as Long
        repeat(20) { allocated() }
        repeat(20) { assertSame(into, classifier.probabilities(texts[it % texts.size], into)) }
        val before = allocated()
        for (round in 0 until 3_000) classifier.probabilities(texts[round % 3], into)
        val bytes = allocated() - before
        assertTrue("3,000 calls allocated $bytes bytes.", bytes < 3_000)
    }

    @Test
    fun callsFromManyThreadsNeverRunAtOnce() {
        var running = 0
        var most = 0
        val slow = object : Engine {
            override fun run(signature: String, inputs: Map<String, Any>, outputs: Map<String, Any>) {
                most = maxOf(most, ++running)
                Thread.sleep(1)
                running--
            }

            override fun close() = Unit
        }
        val classifier = single(slow)
        List(8) { thread { repeat(20) { classifier.probabilities("hi") } } }.forEach(Thread::join)
        assertEquals(1, most)
    }

    @Test
    fun closeClosesTheRuntime() {
        val classifier = single(engine)
        classifier.close()
        assertTrue(engine.isClosed)
        assertEquals("CLOSED", assertThrows(RetvecError::class.java) { classifier.probabilities("hi") }.code)
    }
}
