package org.retveclite

import android.app.Instrumentation
import androidx.test.platform.app.InstrumentationRegistry

/**
 * The one place that knows AndroidX. It lies apart from the other tests of a device, which know the framework alone, so that those
 * compile where Google's repository cannot be reached: there, jvm/kotlin has this function.
 */
internal fun instrumentation(): Instrumentation = InstrumentationRegistry.getInstrumentation()
