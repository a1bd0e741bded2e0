package org.retveclite.demo

import android.graphics.Typeface
import android.view.LayoutInflater
import android.view.View
import android.view.ViewGroup
import android.widget.ProgressBar
import android.widget.TextView
import java.util.Locale

/** One row for each label, in the model's order, so that bars grow and shrink in place. Of many labels, the most probable ones. */
class LabelBars(private val parent: ViewGroup) {
    private class Row(val view: View) {
        val label = view.findViewById(R.id.bar_label) as TextView
        val percent = view.findViewById(R.id.bar_percent) as TextView
        val bar = view.findViewById(R.id.bar) as ProgressBar
    }

    private val rows = mutableListOf<Row>()

    fun show(answer: Answer, locale: Locale) {
        val shown = shown(answer)
        if (rows.size != shown.size) inflate(shown.size)
        rows.zip(shown) { row, index ->
            val label = readable(answer.labels[index])
            val percent = percent(answer.probabilities[index], locale)
            val weight = if (index in answer.chosen) Typeface.BOLD else Typeface.NORMAL
            row.label.text = label
            row.label.setTypeface(null, weight)
            row.percent.text = percent
            row.percent.setTypeface(null, weight)
            row.bar.progress = Math.round(answer.probabilities[index] * row.bar.max)
            // A screen reader reads the row as one: "delivery, 98 percent".
            row.view.contentDescription = parent.context.getString(R.string.bar_description, label, percent)
        }
    }

    private fun shown(answer: Answer): List<Int> {
        val all = answer.labels.indices.toList()
        return if (all.size <= FIT) all else all.sortedByDescending { answer.probabilities[it] }.take(TOP)
    }

    private fun inflate(count: Int) {
        val inflater = LayoutInflater.from(parent.context)
        parent.removeAllViews()
        rows.clear()
        repeat(count) {
            val view = inflater.inflate(R.layout.label_bar, parent, false)
            parent.addView(view)
            rows += Row(view)
        }
    }

    private companion object {
        const val FIT = 12
        const val TOP = 5
    }
}
