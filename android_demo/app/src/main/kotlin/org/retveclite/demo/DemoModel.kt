package org.retveclite.demo

import java.io.Closeable
import java.util.concurrent.Executor

/**
 * What outlives the screen when it rotates, like a ViewModel of AndroidX: the thread, the models that were opened, and the last answer.
 *
 * Each model is opened once, on the worker, when it is first asked. Call from the main thread only.
 */
class DemoModel(private val worker: Worker, main: Executor, private val open: (name: String) -> Model) {
    /** Answers on the worker. */
    interface Model : Closeable {
        fun answer(text: String): Answer
    }

    /** Shows on the main thread. */
    interface Screen {
        fun show(answer: Answer)
        fun fail(problem: Exception)
    }

    private val opened = mutableMapOf<String, Model>()
    private val answers = LatestOnly<Pair<String, String>, Answer>(
        worker,
        main,
        answer = { (name, text) -> opened.getOrPut(name) { open(name) }.answer(text) },
        show = { answer -> tell { it.show(answer) } },
        fail = { problem -> tell { it.fail(problem) } },
    )
    private var screen: Screen? = null
    private var last: ((Screen) -> Unit)? = null

    /** Shows the last answer and all later ones on a screen, in place of the one before; on none, for null. */
    fun showOn(screen: Screen?) {
        this.screen = screen
        if (screen != null) last?.invoke(screen)
    }

    fun ask(name: String, text: String, delayMillis: Long) = answers.ask(name to text, delayMillis)

    /** Closes the models when the worker has answered. */
    fun close() {
        answers.forget()
        screen = null
        worker.runAfter(0) { opened.values.forEach(Model::close) }
    }

    private fun tell(how: (Screen) -> Unit) {
        last = how
        screen?.let(how)
    }
}
