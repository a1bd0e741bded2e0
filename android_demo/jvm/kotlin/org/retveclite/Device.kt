package org.retveclite

import android.app.Instrumentation

/** In the place of androidTest's function of this name, so that the tests of a device compile; they never run here. */
internal fun instrumentation(): Instrumentation = throw UnsupportedOperationException("Expected a device, received a JVM.")
