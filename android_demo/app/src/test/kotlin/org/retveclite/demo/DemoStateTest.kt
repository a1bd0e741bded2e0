package org.retveclite.demo

import org.junit.Assert.assertEquals
import org.junit.Assert.assertNull
import org.junit.Assert.assertThrows
import org.junit.Test

class DemoStateTest {
    @Test
    fun settingsSurviveARotation() {
        for (state in listOf(DemoState("Where is\nmy parcel? 😀 \uD800", 40, 7), DemoState(), DemoState("x", 100, -1))) {
            assertEquals(state, DemoState.of(state.toStrings()))
        }
    }

    @Test
    fun aStateOfAnotherReleaseIsIgnored() {
        for (strings in listOf(arrayOf(), arrayOf("text"), arrayOf("text", "50"), arrayOf("text", "400", "1"), arrayOf("text", "-1", "1"), arrayOf("a", "b", "c"))) {
            assertNull(strings.joinToString(), DemoState.of(strings))
        }
    }

    @Test
    fun theSliderMistypesTheText() {
        assertEquals("where is it", DemoState("where is it", 0).mistyped)
        assertEquals(mistype("where is it", 1f, 2), DemoState("where is it", 100, 2).mistyped)
    }

    @Test
    fun aShareOutsideItsBoundsIsRefused() {
        assertThrows(IllegalArgumentException::class.java) { DemoState("", 101) }
        assertThrows(IllegalArgumentException::class.java) { DemoState("", -1) }
    }
}
