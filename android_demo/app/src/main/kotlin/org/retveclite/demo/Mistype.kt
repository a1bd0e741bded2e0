package org.retveclite.demo

import java.lang.Character.UnicodeBlock
import java.util.Random

/**
 * Mistypes a share of the words, with one typo each: insert, delete, substitute, swap, or neighbor key.
 *
 * The kinds are those of Python's `retvec_lite.mistype`, but the choice is made for a slider: it depends on the seed and the
 * word's position only. So a text does not flicker while the user types, and a word mistyped at one share stays mistyped at
 * every larger one.
 *
 * @param share from 0 to 1; 1 means every word. The number of mistyped words is within two of share times words.
 */
fun mistype(text: String, share: Float, seed: Int): String {
    require(share in 0f..1f) { "share must be 0 to 1, not $share." }
    val result = StringBuilder()
    var at = 0
    var word = 0
    while (at < text.length) {
        var end = at
        while (end < text.length && !text[end].isWhitespace()) end++
        if (end == at) {
            result.append(text[at++])
            continue
        }
        val part = text.substring(at, end)
        // Multiples of the golden ratio, modulo 1, are spread evenly for any number of words.
        val rank = ((seed + word) * GOLDEN_RATIO) % 1.0
        result.append(if (rank < share) mistypeWord(part, Random(seed * 31L + word)) else part)
        word++
        at = end
    }
    return result.toString()
}

private const val GOLDEN_RATIO = 0.6180339887498949
private val KEYBOARD = listOf("qwertyuiop", "asdfghjkl", "zxcvbnm")

private fun mistypeWord(word: String, random: Random): String {
    random.nextInt() // Neighboring seeds start with nearly the same number: skip it.
    val letters = codePoints(word)
    val at = random.nextInt(letters.size)
    when (random.nextInt(5)) {
        0 -> letters.add(at, another(letters[at], random))
        1 -> if (letters.size > 1) letters.removeAt(at)
        2 -> if (at > 0) letters.add(at - 1, letters.removeAt(at))
        3 -> letters[at] = neighbor(letters[at], random)
    }
    val mistyped = joined(letters)
    if (mistyped != word) return mistyped
    letters[at] = another(letters[at], random)
    return joined(letters)
}

/** Draws another letter of the same alphabet and case; a Latin one if the character is not a letter. */
private fun another(letter: Int, random: Random): Int {
    val isLatin = !Character.isLetter(letter) || Character.toLowerCase(letter) in 'a'.code..'z'.code
    val nearby = when {
        !isLatin -> letter - letter % 32 until letter - letter % 32 + 32
        Character.isUpperCase(letter) -> 'A'.code..'Z'.code
        else -> 'a'.code..'z'.code
    }
    val block = UnicodeBlock.of(letter)
    val alphabet = nearby.filter { other ->
        other != letter && Character.isLetter(other) && (isLatin || UnicodeBlock.of(other) == block) &&
            (isLatin || Character.isUpperCase(other) == Character.isUpperCase(letter))
    }
    return if (alphabet.isEmpty()) 'x'.code else alphabet[random.nextInt(alphabet.size)]
}

/** Draws the key to the left or right on a QWERTY keyboard; returns the letter itself if it is not on it. */
private fun neighbor(letter: Int, random: Random): Int {
    val lower = Character.toLowerCase(letter)
    val row = KEYBOARD.find { row -> row.any { it.code == lower } } ?: return letter
    val column = row.indexOf(lower.toChar())
    val beside = listOfNotNull(row.getOrNull(column - 1), row.getOrNull(column + 1))
    val key = beside[random.nextInt(beside.size)].code
    return if (lower == letter) key else Character.toUpperCase(key)
}

private fun codePoints(text: String): MutableList<Int> {
    val result = mutableListOf<Int>()
    var at = 0
    while (at < text.length) {
        result += text.codePointAt(at)
        at += Character.charCount(result.last())
    }
    return result
}

private fun joined(codePoints: List<Int>): String = StringBuilder().apply { codePoints.forEach(::appendCodePoint) }.toString()
