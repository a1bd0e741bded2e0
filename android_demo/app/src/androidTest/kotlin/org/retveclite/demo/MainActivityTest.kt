package org.retveclite.demo

import android.content.Intent
import android.os.SystemClock
import android.view.View
import android.widget.EditText
import android.widget.LinearLayout
import android.widget.SeekBar
import android.widget.TextView
import org.junit.Assert.assertEquals
import org.junit.Assert.assertTrue
import org.junit.Test
import org.retveclite.instrumentation

/** Uses the app like a person: text in, label out, typos, rotation. */
class MainActivityTest {
    private val instrumentation = instrumentation()

    private fun start(): MainActivity {
        val intent = Intent(instrumentation.targetContext, MainActivity::class.java).addFlags(Intent.FLAG_ACTIVITY_NEW_TASK)
        return instrumentation.startActivitySync(intent) as MainActivity
    }

    private fun <T> onMain(block: () -> T): T {
        var result: Result<T>? = null
        instrumentation.runOnMainSync { result = runCatching(block) }
        return result!!.getOrThrow()
    }

    private fun waitFor(what: String, condition: () -> Boolean) {
        val end = SystemClock.uptimeMillis() + 10_000
        while (!onMain(condition)) {
            assertTrue("No $what within ten seconds.", SystemClock.uptimeMillis() < end)
            SystemClock.sleep(20)
        }
    }

    private fun MainActivity.text(id: Int) = (findViewById(id) as TextView).text.toString()

    private fun MainActivity.enter(text: String) = onMain { (findViewById(R.id.message) as EditText).setText(text) }

    @Test
    fun aTextGetsItsLabelAndKeepsItWithTypos() {
        val activity = start()
        activity.enter("Your verification code is 482913")
        waitFor("label") { "one time code" in activity.text(R.id.result) }
        assertTrue(onMain { (activity.findViewById(R.id.bars) as LinearLayout).childCount } >= 2)
        assertTrue("ms" in onMain { activity.text(R.id.facts) })
        onMain { (activity.findViewById(R.id.typos) as SeekBar).progress = 30 }
        waitFor("mistyped text") { (activity.findViewById(R.id.mistyped) as View).visibility == View.VISIBLE }
        SystemClock.sleep(500)
        assertTrue("one time code" in onMain { activity.text(R.id.result) })
        onMain(activity::finish)
    }

    @Test
    fun textAndSliderSurviveARotation() {
        val first = start()
        first.enter("play some jazz")
        onMain { (first.findViewById(R.id.typos) as SeekBar).progress = 25 }
        val monitor = instrumentation.addMonitor(MainActivity::class.java.name, null, false)
        onMain(first::recreate)
        val second = instrumentation.waitForMonitorWithTimeout(monitor, 10_000) as MainActivity
        waitFor("label") { second.text(R.id.result).isNotEmpty() }
        assertEquals("play some jazz", onMain { second.text(R.id.message) })
        assertEquals(25, onMain { (second.findViewById(R.id.typos) as SeekBar).progress })
        onMain(second::finish)
    }

    @Test
    fun everyBarHasADescription() {
        val activity = start()
        waitFor("bars") { (activity.findViewById(R.id.bars) as LinearLayout).childCount > 0 }
        onMain {
            val bars = activity.findViewById(R.id.bars) as LinearLayout
            for (index in 0 until bars.childCount) assertTrue("%" in bars.getChildAt(index).contentDescription)
        }
        onMain(activity::finish)
    }
}
