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
 * The real runtime on a machine without Android: TensorFlow Lite built for desktop systems, behind the same seam as LiteRT.
 *
 * Handles what this class hands over and no more: an int array `[1, n]` in, float arrays `[1, n]` and int arrays `[n]` out.
 */
internal class TensorFlowLite(file: ByteBuffer) : Engine {
    private val bytes = BytePointer(*ByteArray(file.capacity()) { file.get(it) })
    private val model = FlatBufferModel.BuildFromBuffer(bytes, bytes.capacity())
    private val resolver = BuiltinOpResolver()
    private val interpreter = Interpreter(null as org.bytedeco.javacpp.Pointer?)

    init {
        check(InterpreterBuilder(model, resolver).apply(interpreter, 1) == OK) { "Expected TensorFlow Lite to take the model." }
        check(interpreter.AllocateTensors() == OK) { "Expected TensorFlow Lite to allocate the tensors." }
    }

    override fun run(signature: String, inputs: Map<String, Any>, outputs: Map<String, Any>) {
        val runner = checkNotNull(interpreter.GetSignatureRunner(signature)) { "Expected a signature $signature." }
        check(runner.AllocateTensors() == OK) { "Expected TensorFlow Lite to allocate the tensors of $signature." }
        for ((name, value) in inputs) {
            val tensor = checkNotNull(runner.input_tensor(name)) { "Expected an input $name of $signature." }
            val values = (value as Array<*>).single() as IntArray
            check(tensor.bytes() == values.size * 4L) { "Expected ${tensor.bytes()} bytes for $name, received ${values.size} values." }
            IntPointer(tensor.data().data()).put(values, 0, values.size)
        }
        check(runner.Invoke() == OK) { "Expected TensorFlow Lite to run $signature." }
        for ((name, value) in outputs) {
            val tensor = checkNotNull(runner.output_tensor(name)) { "Expected an output $name of $signature." }
            val target = if (value is Array<*>) value.single() else value
            if (target is FloatArray) {
                check(tensor.bytes() == target.size * 4L) { "Expected ${tensor.bytes()} bytes from $name." }
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
