package org.retveclite

import android.app.Instrumentation
import androidx.test.platform.app.InstrumentationRegistry

/**
 * The only use of AndroidX, kept apart so that the other device tests compile without Google's repository; jvm/kotlin has a
 * substitute for this function.
 */
internal fun instrumentation(): Instrumentation = InstrumentationRegistry.getInstrumentation()
