package org.retveclite.demo

import org.junit.Assert.assertEquals
import org.junit.Assert.assertTrue
import org.junit.Test
import java.util.concurrent.Executor
import java.util.concurrent.FutureTask

class DemoModelTest {
    private class Screen : DemoModel.Screen {
        val shown = mutableListOf<String>()
        override fun show(answer: Answer) = shown.plusAssign(answer.text)
        override fun fail(problem: Exception) = shown.plusAssign(problem.message!!)
    }

    private class Model(val name: String) : DemoModel.Model {
        var isOpen = true

        override fun answer(text: String): Answer {
            check(isOpen && text != "broken") { "no answer" }
            return Answer("$name: $text", listOf("a"), floatArrayOf(1f), listOf(0), 1, emptyList(), 5)
        }

        override fun close() {
            isOpen = false
        }
    }

    private val opened = mutableListOf<Model>()
    private val worker = mutableListOf<FutureTask<Unit>>()
    private val main = mutableListOf<Runnable>()
    private val model = DemoModel(
        worker = { _, task -> FutureTask(task, Unit).also(worker::add) },
        main = Executor(main::add),
        open = { name -> Model(name).also(opened::add) },
    )

    private fun run() {
        worker.toList().also { worker.clear() }.forEach { it.run() }
        main.toList().also { main.clear() }.forEach(Runnable::run)
    }

    private fun ask(name: String, text: String) = model.ask(name, text, 0).also { run() }

    @Test
    fun eachModelIsOpenedOnce() {
        val screen = Screen().also(model::showOn)
        for (text in listOf("one", "two")) for (name in listOf("label", "language")) ask(name, text)
        assertEquals(listOf("label: one", "language: one", "label: two", "language: two"), screen.shown)
        assertEquals(listOf("label", "language"), opened.map(Model::name))
    }

    @Test
    fun aScreenAfterARotationHasTheLastAnswer() {
        val first = Screen().also(model::showOn)
        ask("label", "one")
        model.ask("label", "two", 0)
        model.showOn(null)
        run()
        assertEquals(listOf("label: one"), first.shown)
        val second = Screen().also(model::showOn)
        assertEquals(listOf("label: two"), second.shown)
        ask("label", "broken")
        assertEquals("no answer", second.shown.last())
        assertEquals(1, first.shown.size)
    }

    @Test
    fun closingShowsNothingMoreAndClosesTheModels() {
        val screen = Screen().also(model::showOn)
        ask("label", "one")
        model.ask("label", "two", 0)
        model.close()
        run()
        assertEquals(listOf("label: one"), screen.shown)
        assertTrue(opened.none(Model::isOpen))
    }
}
