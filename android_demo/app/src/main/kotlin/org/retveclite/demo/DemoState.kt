package org.retveclite.demo

/** The user's settings, kept when the screen rotates. */
data class DemoState(val text: String = "", val typoPercent: Int = 0, val seed: Int = 1) {
    init {
        require(typoPercent in 0..100) { "typoPercent must be 0 to 100, not $typoPercent." }
    }

    /** The text that is classified. */
    val mistyped: String get() = mistype(text, typoPercent / 100f, seed)

    /** Converts to strings, which a Bundle can hold. */
    fun toStrings(): Array<String> = arrayOf(text, "$typoPercent", "$seed")

    companion object {
        /** Restores a saved state; returns null for one that another release saved. */
        fun of(strings: Array<String>): DemoState? {
            val typoPercent = strings.getOrNull(1)?.toIntOrNull()?.takeIf { it in 0..100 } ?: return null
            return DemoState(strings[0], typoPercent, strings.getOrNull(2)?.toIntOrNull() ?: return null)
        }
    }
}
