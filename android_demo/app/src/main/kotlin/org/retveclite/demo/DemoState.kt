package org.retveclite.demo

/** What the person set: all that is kept when the screen is turned. */
data class DemoState(val text: String = "", val typoPercent: Int = 0, val seed: Int = 1) {
    init {
        require(typoPercent in 0..100) { "Expected 0 to 100 percent, received $typoPercent." }
    }

    /** The text that is classified. */
    val mistyped: String get() = mistype(text, typoPercent / 100f, seed)

    /** For a Bundle, which holds arrays of strings. */
    fun toStrings(): Array<String> = arrayOf(text, "$typoPercent", "$seed")

    companion object {
        /** The state that was saved, null when it was saved by another release. */
        fun of(strings: Array<String>): DemoState? {
            val typoPercent = strings.getOrNull(1)?.toIntOrNull()?.takeIf { it in 0..100 } ?: return null
            return DemoState(strings[0], typoPercent, strings.getOrNull(2)?.toIntOrNull() ?: return null)
        }
    }
}
