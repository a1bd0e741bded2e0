package org.retveclite.demo

import java.util.concurrent.Executor
import java.util.concurrent.Future

/** Runs a task off the main thread after a delay. */
fun interface Worker {
    fun runAfter(millis: Long, task: Runnable): Future<*>
}

/**
 * Answers the latest question off the main thread, after a short delay without a newer one.
 *
 * A newer question cancels a waiting one and hides the answer of a running one. Call from the main thread only: [show] and
 * [fail] run there too.
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

    /** Drops all questions so far: their answers are not shown. */
    fun forget(): Int {
        waiting?.cancel(false)
        return ++latest
    }

    /** Rethrows an [Error]: the app cannot handle it. */
    private fun onProblem(problem: Throwable) = if (problem is Exception) fail(problem) else throw problem
}
