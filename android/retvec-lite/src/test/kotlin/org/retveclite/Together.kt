package org.retveclite

import java.util.concurrent.Callable
import java.util.concurrent.Executors

/** Runs all at the same time, each in a thread; throws what any of them throws. */
fun together(all: List<() -> Unit>) {
    val threads = Executors.newFixedThreadPool(all.size)
    try {
        threads.invokeAll(all.map { one -> Callable { one() } }).forEach { it.get() }
    } finally {
        threads.shutdown()
    }
}
