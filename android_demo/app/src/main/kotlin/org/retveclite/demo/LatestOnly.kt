package org.retveclite.demo

import java.util.concurrent.Executor
import java.util.concurrent.Future

/** Runs a task off the main thread after a delay. */
fun interface Worker {
    fun runAfter(millis: Long, task: Runnable): Future<*>
}

/**
 * Answers the latest question off the main thread, once no newer one has come for a moment.
 *
 * A question that is overtaken before its turn is never computed; one that is overtaken while it is computed is never shown.
 * Call from the main thread only: [show] and [fail] run there, too.
 */
class LatestOnly<Q, A>(
    private val worker: Worker,
    private val main: Executor,
    private val answer: (Q) -> A,
    private val show: (A) -> Unit,
    private val fail: (Exception) -> Unit,
) {
    private var latest = 0
    private var waiting: Future<*>? = null

    fun ask(question: Q, delayMillis: Long) {
        val number = forget()
        waiting = worker.runAfter(delayMillis) {
            val outcome = runCatching { answer(question) }
            main.execute { if (number == latest) outcome.fold(show, ::onProblem) }
        }
    }

    /** Shows no answer to any question asked so far. */
    fun forget(): Int {
        waiting?.cancel(false)
        return ++latest
    }

    /** An [Error] is none of the app's doing: it goes where uncaught ones go. */
    private fun onProblem(problem: Throwable) = if (problem is Exception) fail(problem) else throw problem
}
