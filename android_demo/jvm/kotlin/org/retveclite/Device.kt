package org.retveclite

import android.app.Instrumentation

/** Replaces the function in androidTest, so that the device tests compile without AndroidX. They never run here. */
internal fun instrumentation(): Instrumentation = throw UnsupportedOperationException("This test needs a device.")
