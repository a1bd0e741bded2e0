package org.retveclite.demo

import android.graphics.Typeface
import android.text.SpannableString
import android.text.Spanned.SPAN_EXCLUSIVE_EXCLUSIVE
import android.text.style.BackgroundColorSpan
import android.text.style.StyleSpan
import android.text.style.UnderlineSpan
import org.retveclite.Span
import kotlin.math.abs

/** Returns the words to mark with their weights as shares of the strongest one's; words that hardly matter stay unmarked. */
fun marks(words: List<Span>): List<Pair<Span, Float>> {
    val strongest = words.maxOfOrNull { abs(it.weight) } ?: 0f
    return words.filter { it.weight != 0f && abs(it.weight) >= LEAST * strongest }.map { it to it.weight / strongest }
}

/** Returns the text with its words marked: bold on [forColor], or underlined on [againstColor], the paler the weaker. */
fun marked(text: String, words: List<Span>, forColor: Int, againstColor: Int): CharSequence {
    val result = SpannableString(text)
    for ((word, share) in marks(words)) {
        // Not by color alone.
        val style: Any = if (share > 0) StyleSpan(Typeface.BOLD) else UnderlineSpan()
        val color = BackgroundColorSpan(faded(if (share > 0) forColor else againstColor, abs(share)))
        for (mark in listOf(style, color)) result.setSpan(mark, word.start, word.end, SPAN_EXCLUSIVE_EXCLUSIVE)
    }
    return result
}

/** Returns an ARGB color with a share of its opacity. */
internal fun faded(color: Int, share: Float): Int = (Math.round((color ushr 24) * share) shl 24) or (color and 0xFFFFFF)

private const val LEAST = 0.05f
