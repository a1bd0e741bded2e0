@file:JvmName("RetvecAssets")

package org.retveclite

import android.content.Context
import java.io.FileInputStream
import java.nio.ByteBuffer

/** Opens an uncompressed asset (`noCompress += "retvec"` in Gradle); from Java, `RetvecAssets.open(context)`. */
@JvmName("open")
@JvmOverloads
@Throws(RetvecError::class)
fun RetvecClassifier(context: Context, asset: String = "classifier.retvec"): RetvecClassifier =
    RetvecClassifier(mapAsset(context, asset))

/** Maps an uncompressed asset into memory. */
@JvmName("map")
@Throws(RetvecError::class)
fun mapAsset(context: Context, asset: String): ByteBuffer = withFile("CANNOT_LOAD", "The asset $asset cannot be read") {
    context.assets.openFd(asset).use { FileInputStream(it.fileDescriptor).map(it.startOffset, it.declaredLength) }
}
