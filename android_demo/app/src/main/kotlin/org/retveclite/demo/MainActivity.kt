package org.retveclite.demo

import android.app.Activity
import android.os.Bundle
import android.os.Handler
import android.os.Looper
import android.text.Editable
import android.text.TextWatcher
import android.text.format.Formatter
import android.view.View
import android.view.ViewGroup
import android.widget.EditText
import android.widget.SeekBar
import android.widget.TextView
import java.util.Locale
import java.util.concurrent.Executor
import java.util.concurrent.ScheduledThreadPoolExecutor
import java.util.concurrent.TimeUnit

/** Shows the label of a message, or its language, and how it holds while a slider adds typos. */
class MainActivity : Activity(), DemoModel.Screen {
    private lateinit var answers: DemoModel
    private var model = MODEL
    private var state = DemoState()
    private lateinit var message: EditText
    private lateinit var mistyped: TextView
    private lateinit var typoLabel: TextView
    private lateinit var typos: SeekBar
    private lateinit var result: TextView
    private lateinit var why: TextView
    private lateinit var facts: TextView
    private lateinit var bars: LabelBars
    private lateinit var other: TextView

    override fun onCreate(savedInstanceState: Bundle?) {
        super.onCreate(savedInstanceState)
        setContentView(R.layout.activity_main)
        message = findViewById(R.id.message) as EditText
        mistyped = findViewById(R.id.mistyped) as TextView
        typoLabel = findViewById(R.id.typo_label) as TextView
        typos = findViewById(R.id.typos) as SeekBar
        result = findViewById(R.id.result) as TextView
        why = findViewById(R.id.why) as TextView
        facts = findViewById(R.id.facts) as TextView
        bars = LabelBars(findViewById(R.id.bars) as ViewGroup)
        other = findViewById(R.id.other_model) as TextView
        @Suppress("DEPRECATION") // In API 23 alone. AndroidX keeps its ViewModels in the same way.
        answers = lastNonConfigurationInstance as DemoModel? ?: newModel()
        answers.showOn(this)
        model = savedInstanceState?.getString(OPENED) ?: MODEL
        state = savedInstanceState?.getStringArray(STATE)?.let(DemoState::of) ?: DemoState(getString(R.string.example))
        message.setText(state.text)
        typos.progress = state.typoPercent
        message.addTextChangedListener(object : TextWatcher {
            override fun beforeTextChanged(text: CharSequence, start: Int, count: Int, after: Int) = Unit
            override fun onTextChanged(text: CharSequence, start: Int, before: Int, count: Int) = Unit
            override fun afterTextChanged(text: Editable) = update(state.copy(text = text.toString()), TYPING_MILLIS)
        })
        typos.setOnSeekBarChangeListener(object : SeekBar.OnSeekBarChangeListener {
            override fun onStartTrackingTouch(bar: SeekBar) = Unit
            override fun onStopTrackingTouch(bar: SeekBar) = Unit
            override fun onProgressChanged(bar: SeekBar, progress: Int, fromUser: Boolean) =
                update(state.copy(typoPercent = progress), SLIDING_MILLIS)
        })
        (findViewById(R.id.shuffle) as View).setOnClickListener { update(state.copy(seed = state.seed + 1), 0) }
        other.setOnClickListener {
            model = if (model == MODEL) LANGUAGE else MODEL
            nameOther()
            update(state, 0)
        }
        nameOther()
        update(state, 0)
    }

    private fun nameOther() {
        other.text = getString(if (model == MODEL) R.string.to_language else R.string.to_label)
    }

    override fun onSaveInstanceState(outState: Bundle) {
        super.onSaveInstanceState(outState)
        outState.putStringArray(STATE, state.toStrings())
        outState.putString(OPENED, model)
    }

    @Suppress("OVERRIDE_DEPRECATION")
    override fun onRetainNonConfigurationInstance(): Any = answers

    override fun onDestroy() {
        if (isChangingConfigurations) answers.showOn(null) else answers.close()
        super.onDestroy()
    }

    private fun newModel(): DemoModel {
        val thread = ScheduledThreadPoolExecutor(1).apply {
            setKeepAliveTime(10, TimeUnit.SECONDS)
            allowCoreThreadTimeOut(true)
        }
        val application = applicationContext // A model outlives the screen.
        return DemoModel(
            worker = { millis, task -> thread.schedule(task, millis, TimeUnit.MILLISECONDS) },
            main = Executor(Handler(Looper.getMainLooper())::post),
            open = { name -> AssetModel(application, name) },
        )
    }

    private fun update(new: DemoState, delayMillis: Long) {
        state = new
        val text = new.mistyped
        mistyped.text = text
        mistyped.visibility = if (new.typoPercent > 0) View.VISIBLE else View.GONE
        typoLabel.text = getString(R.string.typos, percent(new.typoPercent / 100f, locale()))
        answers.ask(model, text, delayMillis)
    }

    override fun show(answer: Answer) {
        bars.show(answer, locale())
        // Setting the text of a live region announces it: do so for new labels only.
        val label = if (answer.isUnknown) getString(R.string.unknown) else getString(R.string.result, readable(answer.labels[answer.top]))
        if (result.text.toString() != label) result.text = label
        why.text = marked(answer.text, answer.words, color(R.color.speaks_for), color(R.color.speaks_against))
        val millis = String.format(locale(), "%.2f", answer.millis)
        val size = Formatter.formatShortFileSize(this, answer.modelBytes)
        facts.text = getString(R.string.facts, millis, size)
    }

    override fun fail(problem: Exception) {
        val sentence = getString(R.string.problem, problem.message ?: problem.toString())
        if (result.text.toString() != sentence) result.text = sentence
        why.text = null
        facts.text = null
    }

    @Suppress("DEPRECATION") // Its replacement has a theme, which these colors do not depend on.
    private fun color(id: Int): Int = resources.getColor(id)

    @Suppress("DEPRECATION") // Its replacement is not in API 23.
    private fun locale(): Locale = resources.configuration.locale

    private companion object {
        const val MODEL = "classifier.tflite"
        const val LANGUAGE = "language.tflite"
        const val STATE = "state"
        const val OPENED = "model"
        const val TYPING_MILLIS = 80L
        const val SLIDING_MILLIS = 16L
    }
}
