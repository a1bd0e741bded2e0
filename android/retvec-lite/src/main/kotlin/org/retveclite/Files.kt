@file:JvmName("RetvecFiles")

package org.retveclite

import java.io.File
import java.io.FileInputStream
import java.io.IOException
import java.nio.ByteBuffer
import java.nio.channels.FileChannel.MapMode.READ_ONLY

/** Maps a file into memory. It must not change as long as that is in use. */
@JvmName("map")
@Throws(RetvecError::class)
fun mapFile(file: File): ByteBuffer = withFile("CANNOT_LOAD", "$file cannot be read") { FileInputStream(file).map(0, file.length()) }

/** Maps a part of a file into memory, and closes the stream. */
internal fun FileInputStream.map(start: Long, length: Long): ByteBuffer = use { it.channel.map(READ_ONLY, start, length) }

/** Works with a file; a problem with it becomes a [RetvecError]. */
internal fun <T> withFile(code: String, problem: String, body: () -> T): T = try {
    body()
} catch (error: IOException) {
    throw RetvecError(code, "$problem: ${error.message ?: error.javaClass.simpleName}", error)
}
