package org.retveclite.reactnative

import com.facebook.react.ReactPackage
import com.facebook.react.bridge.Arguments
import com.facebook.react.bridge.Promise
import com.facebook.react.bridge.ReactApplicationContext
import com.facebook.react.bridge.ReactContextBaseJavaModule
import com.facebook.react.bridge.ReactMethod
import com.facebook.react.bridge.ReadableArray
import com.facebook.react.bridge.WritableArray
import com.facebook.react.bridge.WritableMap
import com.facebook.react.uimanager.ViewManager
import org.retveclite.Prediction
import org.retveclite.RetvecClassifier
import org.retveclite.RetvecError
import java.io.File
import java.util.concurrent.Executors

/** What src/index.ts calls, in a thread of its own. */
class RetvecLiteModule(context: ReactApplicationContext) : ReactContextBaseJavaModule(context) {
    private val thread = Executors.newSingleThreadExecutor()
    private val opened = mutableMapOf<Int, RetvecClassifier>()
    private var next = 0

    override fun getName() = "RetvecLite"

    @ReactMethod fun open(path: String, promise: Promise) = answer(promise) {
        val classifier = RetvecClassifier(File(path))
        opened[++next] = classifier
        Arguments.createMap().apply {
            putInt("id", next)
            putArray("labels", Arguments.fromList(classifier.labels))
            putString("metadata", classifier.metadata)
        }
    }

    @ReactMethod fun predict(id: Double, texts: ReadableArray, promise: Promise) = answer(promise) {
        list(classifier(id).predictMany(texts.toArrayList().map { it as String }), ::shown)
    }

    @ReactMethod fun predictAll(id: Double, text: String, promise: Promise) = answer(promise) { list(classifier(id).predictAll(text), ::shown) }

    @ReactMethod fun probabilities(id: Double, text: String, promise: Promise) = answer(promise) { Arguments.fromArray(classifier(id).probabilities(text)) }

    @ReactMethod fun explain(id: Double, text: String, label: String?, promise: Promise) = answer(promise) {
        list(classifier(id).explain(text, label)) { span ->
            Arguments.createMap().apply {
                putInt("start", span.start)
                putInt("end", span.end)
                putDouble("weight", span.weight.toDouble())
            }
        }
    }

    @ReactMethod fun embed(id: Double, text: String, promise: Promise) = answer(promise) { Arguments.fromArray(classifier(id).embed(text)) }

    @ReactMethod fun teach(id: Double, text: String, label: String, promise: Promise) = done(promise) { classifier(id).teach(text, label) }

    @ReactMethod fun forget(id: Double, text: String, promise: Promise) = done(promise) { classifier(id).forget(text) }

    @ReactMethod fun memoryTexts(id: Double, promise: Promise) = answer(promise) {
        Arguments.createArray().apply { for ((text, label) in classifier(id).memory.texts) pushArray(Arguments.fromList(listOf(text, label))) }
    }

    @ReactMethod fun memorySave(id: Double, path: String, promise: Promise) = done(promise) { classifier(id).memory.save(File(path)) }

    @ReactMethod fun memoryLoad(id: Double, path: String, promise: Promise) = done(promise) { classifier(id).memory.load(File(path)) }

    @ReactMethod fun memoryClear(id: Double, promise: Promise) = done(promise) { classifier(id).memory.clear() }

    @ReactMethod fun close(id: Double, promise: Promise) = done(promise) { opened.remove(id.toInt())?.close() }

    private fun classifier(id: Double) = opened[id.toInt()] ?: throw RetvecError("CLOSED", "The classifier is closed.")

    private fun shown(one: Prediction): WritableMap = Arguments.createMap().apply {
        putString("label", one.label)
        putDouble("probability", one.probability.toDouble())
        putString("taught", one.taught)
    }

    private fun <T> list(all: List<T>, shown: (T) -> WritableMap): WritableArray = Arguments.createArray().apply { for (one in all) pushMap(shown(one)) }

    private fun done(promise: Promise, body: () -> Unit) = answer(promise) { body().let { null } }

    private fun answer(promise: Promise, body: () -> Any?) = thread.execute {
        try {
            promise.resolve(body())
        } catch (error: RetvecError) {
            promise.reject(error.code, error.message, error)
        }
    }
}

/** Makes the module known to React Native. */
class RetvecLitePackage : ReactPackage {
    override fun createNativeModules(reactContext: ReactApplicationContext) = listOf(RetvecLiteModule(reactContext))

    override fun createViewManagers(reactContext: ReactApplicationContext) = emptyList<ViewManager<*, *>>()
}
