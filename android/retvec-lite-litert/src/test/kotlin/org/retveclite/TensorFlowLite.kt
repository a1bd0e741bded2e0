package org.retveclite

import org.bytedeco.javacpp.BytePointer
import org.bytedeco.javacpp.FloatPointer
import org.bytedeco.javacpp.IntPointer
import org.bytedeco.tensorflowlite.BuiltinOpResolver
import org.bytedeco.tensorflowlite.FlatBufferModel
import org.bytedeco.tensorflowlite.Interpreter
import org.bytedeco.tensorflowlite.InterpreterBuilder
import java.nio.ByteBuffer

/**
 * A real runtime on a machine without Android: TensorFlow Lite built for desktop systems, in place of LiteRT.
 *
 * Handles only what `TextClassifier` uses: an int array `[1, n]` in, float arrays `[1, n]` and int arrays `[n]` out.
 */
internal class TensorFlowLite(file: ByteBuffer) : Engine {
    private val bytes = BytePointer(*ByteArray(file.capacity()) { file.get(it) })
    private val model = FlatBufferModel.BuildFromBuffer(bytes, bytes.capacity())
    private val resolver = BuiltinOpResolver()
    private val interpreter = Interpreter(null as org.bytedeco.javacpp.Pointer?)

    init {
        check(InterpreterBuilder(model, resolver).apply(interpreter, 1) == OK) { "TensorFlow Lite refused the model." }
        check(interpreter.AllocateTensors() == OK) { "TensorFlow Lite cannot allocate the tensors." }
    }

    override fun run(signature: String, inputs: Map<String, Any>, outputs: Map<String, Any>) {
        val runner = checkNotNull(interpreter.GetSignatureRunner(signature)) { "The model has no signature $signature." }
        check(runner.AllocateTensors() == OK) { "TensorFlow Lite cannot allocate the tensors of $signature." }
        for ((name, value) in inputs) {
            val tensor = checkNotNull(runner.input_tensor(name)) { "$signature has no input $name." }
            val values = (value as Array<*>).single() as IntArray
            check(tensor.bytes() == values.size * 4L) { "$name takes ${tensor.bytes()} bytes, not ${values.size} values." }
            IntPointer(tensor.data().data()).put(values, 0, values.size)
        }
        check(runner.Invoke() == OK) { "TensorFlow Lite cannot run $signature." }
        for ((name, value) in outputs) {
            val tensor = checkNotNull(runner.output_tensor(name)) { "$signature has no output $name." }
            val target = if (value is Array<*>) value.single() else value
            if (target is FloatArray) {
                check(tensor.bytes() == target.size * 4L) { "$name has ${tensor.bytes()} bytes, not ${target.size} values." }
                FloatPointer(tensor.data().data()).get(target, 0, target.size)
            } else {
                IntPointer(tensor.data().data()).get(target as IntArray, 0, target.size)
            }
        }
    }

    override fun close() {
        interpreter.close()
        model.close()
    }

    private companion object {
        const val OK = 0
    }
}
