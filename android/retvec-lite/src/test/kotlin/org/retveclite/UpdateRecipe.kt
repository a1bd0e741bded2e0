package org.retveclite

// The recipe of docs/updates.md for Android and JVMs: copy it into your app.
import java.io.File
import java.io.FileOutputStream
import java.io.IOException

private const val NAME = "router"
private const val FILE = "classifier-int8.retvec"

/** Faults of a file itself. Those of the engine, the memory or the disk may be gone at the next start. */
private val FAULTS = setOf("RVL_NOT_RETVEC", "RVL_TRUNCATED", "RVL_CHANGED", "RVL_DAMAGED")

/** Models that were downloaded: `7.retvec` is version 7. `7.bad` did not work, and is never taken again. */
class Models(private val folder: File, private val bundled: Int, private val key: String) {
    /** The newest version that was ever installed. */
    val installed: Int get() = maxOf(bundled, versions(".retvec").firstOrNull() ?: 0, versions(".bad").firstOrNull() ?: 0)

    /** Checks an update and keeps it for the next start. Throws where it must not be used; `UPDATE_OLD` is the usual day. */
    fun install(manifest: ByteArray, signature: ByteArray, model: ByteArray) {
        val update = Update.verify(manifest, signature, key, NAME, installed)
        update.check(FILE, model)
        val dayAgo = System.currentTimeMillis() - 86_400_000
        folder.listFiles { file -> file.name.endsWith(".new") && file.lastModified() < dayAgo }?.forEach { it.delete() } // after a crash
        // A name of its own: another thread or process may be at work, and an open model must not change.
        val new = File.createTempFile("retvec", ".new", folder)
        try {
            FileOutputStream(new).use {
                it.write(model)
                it.fd.sync()
            }
            RetvecClassifier(new).use { classifier ->
                update.tryTexts { text -> classifier.predictAll(text).map { it.label } }
            }
            // Whole or not at all.
            if (!new.renameTo(File(folder, "${update.version}.retvec"))) throw IOException("Cannot write to $folder.")
        } finally {
            new.delete()
        }
        versions(".retvec").drop(2).forEach { File(folder, "$it.retvec").delete() }
    }

    /** Opens the newest model that works; null where that is the bundled one. */
    fun open(): RetvecClassifier? {
        for (version in versions(".retvec").filter { it > bundled }) {
            try {
                return RetvecClassifier(File(folder, "$version.retvec"))
            } catch (error: RetvecError) {
                if (error.code in FAULTS) rollBack(version)
            }
        }
        return null
    }

    /** Never use a version again. */
    fun rollBack(version: Int) = File(folder, "$version.retvec").renameTo(File(folder, "$version.bad"))

    private fun versions(suffix: String): List<Int> = folder.list().orEmpty()
        .filter { it.endsWith(suffix) }
        .mapNotNull { it.removeSuffix(suffix).toIntOrNull() }
        .sortedDescending()
}
