package org.retveclite.demo

import org.junit.Assert.assertEquals
import org.junit.Assert.assertThrows
import org.junit.Assert.assertTrue
import org.junit.Test
import java.util.concurrent.Executor
import java.util.concurrent.FutureTask

class LatestOnlyTest {
    private class Waiting(val millis: Long, task: Runnable) : FutureTask<Unit>(task, Unit)

    private val worker = mutableListOf<Waiting>()
    private val main = mutableListOf<Runnable>()
    private val computed = mutableListOf<String>()
    private val shown = mutableListOf<String>()
    private val failed = mutableListOf<String>()
    private val answers = LatestOnly<String, String>(
        worker = { millis, task -> Waiting(millis, task).also(worker::add) },
        main = Executor(main::add),
        answer = { question ->
            computed += question
            when (question) {
                "broken" -> throw IllegalArgumentException("no answer to that")
                "fatal" -> throw StackOverflowError()
            }
            question.uppercase()
        },
        show = shown::add,
        fail = { failed += it.message!! },
    )

    private fun runWorker() = worker.toList().forEach { it.run() }.also { worker.clear() }

    private fun runMain() = main.toList().also { main.clear() }.forEach(Runnable::run)

    @Test
    fun aQuestionWaitsForAPauseAndIsAnsweredOnTheMainThread() {
        answers.ask("a", 80)
        assertEquals(80L, worker.single().millis)
        assertTrue(computed.isEmpty())
        runWorker()
        assertEquals(listOf("a"), computed)
        assertTrue("shown before the main thread ran", shown.isEmpty())
        runMain()
        assertEquals(listOf("A"), shown)
    }

    @Test
    fun aNewerQuestionCancelsAWaitingOne() {
        for (question in listOf("w", "wh", "whe", "wher", "where")) answers.ask(question, 80)
        runWorker()
        runMain()
        assertEquals(listOf("where"), computed)
        assertEquals(listOf("WHERE"), shown)
    }

    @Test
    fun aNewerQuestionHidesTheAnswerOfARunningOne() {
        answers.ask("old", 0)
        runWorker()
        answers.ask("new", 0)
        runMain()
        assertTrue(shown.isEmpty())
        runWorker()
        runMain()
        assertEquals(listOf("NEW"), shown)
    }

    @Test
    fun anExceptionIsShownInPlaceOfTheAnswer() {
        answers.ask("broken", 0)
        runWorker()
        runMain()
        assertEquals(listOf("no answer to that"), failed)
        answers.ask("next", 0)
        runWorker()
        runMain()
        assertEquals(listOf("NEXT"), shown)
    }

    @Test
    fun anErrorIsRethrown() {
        answers.ask("fatal", 0)
        runWorker()
        assertThrows(StackOverflowError::class.java) { runMain() }
    }

    @Test
    fun afterForgettingNothingIsShown() {
        answers.ask("a", 0)
        runWorker()
        answers.forget()
        runMain()
        assertTrue(shown.isEmpty())
    }
}
