@file:JvmName("RetvecFiles")

package org.retveclite

import java.io.File
import java.io.FileInputStream
import java.io.FileOutputStream
import java.io.IOException
import java.nio.ByteBuffer
import java.nio.channels.FileChannel.MapMode.READ_ONLY
import java.nio.file.Files
import java.nio.file.Paths
import java.nio.file.StandardCopyOption.ATOMIC_MOVE

/** Maps a file into memory. It must not change as long as that is in use. */
@JvmName("map")
@Throws(RetvecError::class)
fun mapFile(file: File): ByteBuffer = withFile("CANNOT_LOAD", "$file cannot be read") { FileInputStream(file).map(0, file.length()) }

/** Maps a part of a file into memory, and closes the stream. */
internal fun FileInputStream.map(start: Long, length: Long): ByteBuffer = use { it.channel.map(READ_ONLY, start, length) }

/** Makes an empty file that nobody else has, and deletes those of this [prefix] that programs which ended meanwhile left a day ago. */
internal fun ownFile(folder: File, prefix: String, suffix: String): File {
    val dayAgo = System.currentTimeMillis() - 86_400_000
    folder.listFiles { file -> file.name.startsWith(prefix) && file.lastModified() < dayAgo }?.forEach { it.delete() }
    return File.createTempFile(prefix, suffix, folder)
}

/** Writes a file under a name of its own, which takes the place of [file] in one step: whoever else writes or reads it, it is whole. */
@Suppress("NewApi") // Files is for Windows alone, where renameTo replaces nothing; Android has it from API 26 on.
internal fun replaceFile(file: File, content: ByteBuffer) {
    val own = ownFile(file.absoluteFile.parentFile ?: file, ".${file.name}.retvec-lite-new", "")
    try {
        FileOutputStream(own).use {
            while (content.hasRemaining()) it.channel.write(content)
            it.fd.sync()
        }
        if (File.separatorChar == '\\') {
            Files.move(Paths.get(own.path), Paths.get(file.path), ATOMIC_MOVE)
        } else if (!own.renameTo(file)) {
            throw IOException("something else has its name")
        }
    } finally {
        own.delete()
    }
}

/** Works with a file; a problem with it becomes a [RetvecError]. */
internal fun <T> withFile(code: String, problem: String, body: () -> T): T = try {
    body()
} catch (error: IOException) {
    throw RetvecError(code, "$problem: ${error.message ?: error.javaClass.simpleName}", error)
}
