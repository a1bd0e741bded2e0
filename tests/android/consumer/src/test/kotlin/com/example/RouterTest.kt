package com.example

import org.junit.Assert.assertArrayEquals
import org.junit.Assert.assertEquals
import org.junit.Assert.assertTrue
import org.junit.Test
import org.retveclite.Golden
import java.io.File

class RouterTest {
    private fun file(name: String) = File(javaClass.getResource("/$name")!!.toURI())

    private fun check(name: String, labels: (Golden.Case, String) -> List<String>) = Router(file("$name.retvec")).use { router ->
        val golden = Golden(file("$name.json").inputStream(), engine = true)
        val cases = (golden.cases + golden.long).filter { it.text != null }
        assertTrue(cases.size > 100)
        for (case in cases) {
            assertArrayEquals(case.name, case.probabilities(golden.recipe), router.probabilities(case.text!!), golden.tolerance)
            if (case.hasLabel(golden.recipe)) {
                assertEquals(case.name, labels(case, golden.recipe).toSet(), router.labels(case.text).toSet())
            }
        }
    }

    @Test
    fun everyTextHasOneLabel() = check("plain") { case, recipe -> listOf(case.label(recipe)!!) }

    @Test
    fun someTextsHaveNone() = check("rejecting") { case, recipe -> listOfNotNull(case.label(recipe)) }

    @Test
    fun someTextsHaveSeveral() = check("several") { case, recipe -> case.labels(recipe) }
}
