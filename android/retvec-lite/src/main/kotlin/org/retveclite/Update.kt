package org.retveclite

import java.security.GeneralSecurityException
import java.security.KeyFactory
import java.security.MessageDigest
import java.security.NoSuchAlgorithmException
import java.security.Provider
import java.security.Security
import java.security.Signature
import java.security.SignatureException
import java.security.spec.X509EncodedKeySpec

/**
 * An update that was downloaded: [verify] checks signature, name and version, [check] the bytes of a file, and [tryTexts] its answers.
 * Only then may the file take the place of the installed one: docs/updates.md has the whole recipe.
 *
 * Each refusal is a [RetvecError] with one of these codes: `UPDATE_KEY`, no public key, or one for which anybody can sign;
 * `UPDATE_INSTALLED`, the installed version is below 0; `UPDATE_SIGNATURE`, signed with another key, or
 * changed since; `UPDATE_MANIFEST`, no manifest, or one of a newer release; `UPDATE_NAME`, of another model; `UPDATE_OLD`, not newer than the
 * installed model; `UPDATE_CONTRACT`, needs a newer release; `UPDATE_FILE`, not listed, half, or other bytes; `UPDATE_ANSWERS`, a golden text
 * is answered otherwise; `UPDATE_PLATFORM`, no Ed25519 here.
 */
class Update private constructor(private val manifest: Manifest) {
    val name: String = manifest.name!!
    val version: Int = manifest.version!!

    /** The classes, in the order of the probabilities. */
    val labels: List<String> = manifest.labels

    /** Golden texts, and the labels that every file gives them. */
    val texts: List<Pair<String, List<String>>> = manifest.texts

    /** How many bytes each file has, by its name: download no more. */
    val files: Map<String, Int> = manifest.files.mapValues { (_, file) -> file.first }

    /** Checks that [content] is the file that was signed, byte for byte; throws [RetvecError] if not. */
    @Throws(RetvecError::class)
    fun check(file: String, content: ByteArray) {
        val (size, hash) = manifest.files[file] ?: throw RetvecError("UPDATE_FILE", "$file is not in the manifest.")
        val problem = when {
            content.size != size -> "has ${content.size} bytes instead of $size"
            !MessageDigest.getInstance("SHA-256").digest(content).contentEquals(fromHex(hash)) -> "is another file than the manifest lists"
            else -> return
        }
        throw RetvecError("UPDATE_FILE", "$file $problem. Download it again.")
    }

    /**
     * Checks that a file answers the golden texts as it did when it was exported; throws [RetvecError] for the first text that has other
     * labels.
     *
     *     update.tryTexts { text -> classifier.predictAll(text).map { it.label } }
     */
    @Throws(RetvecError::class)
    fun tryTexts(labelsOf: (String) -> Collection<String?>) {
        for ((text, labels) in texts) {
            val found = labelsOf(text).filterNotNull()
            if (found.sorted() == labels.sorted()) continue
            throw RetvecError("UPDATE_ANSWERS", "The update answers $found to \"$text\", not $labels. Keep the installed model.")
        }
    }

    companion object {
        private const val ED25519 = "Ed25519"
        private const val SIGNATURE_BYTES = 64
        private const val KEY_BYTES = 32

        /** What stands in front of the 32 bytes of a public key of Ed25519 in X.509: RFC 8410. */
        private const val X509 = "302a300506032b6570032100"

        /** Public keys for which anybody can sign, such as one of zeros: retvec_lite/signing.py says which. */
        private val LOW_ORDER = Regex(
            "0[01](00){30}[08]0|26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc[08]5" +
                "|c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03[7f]a|(e[c-f]|f.)(ff){30}[7f]f",
            RegexOption.IGNORE_CASE,
        )

        /**
         * Checks the signature, then the name and version that were signed. Nothing is read of what is not signed.
         *
         * @param manifest the exact bytes of `manifest.json`
         * @param signature those of `manifest.json.sig`
         * @param key the public key that the app was built with, 64 hexadecimal digits; of several with spaces between them, any may have signed
         * @param name of the model: no other model of the same key can take its place
         * @param installed version of the installed model, 0 for none; the update must be newer
         * @param provider of Ed25519, such as Conscrypt's or Bouncy Castle's, for systems without; the first one of the system by default
         * @throws RetvecError where anything is wrong
         */
        @JvmStatic
        @JvmOverloads
        @Throws(RetvecError::class)
        fun verify(
            manifest: ByteArray,
            signature: ByteArray,
            key: String,
            name: String,
            installed: Int = 0,
            provider: Provider? = null,
        ): Update {
            if (installed < 0) throw RetvecError("UPDATE_INSTALLED", "The installed version is 0 for none, or more, not $installed.")
            val signed = manifest.copyOf()
            if (!isSigned(signed, signature, key, provider)) {
                throw RetvecError("UPDATE_SIGNATURE", "The manifest was not signed with this key, or was changed since. Do not use its files.")
            }
            val found = try {
                ManifestReader.read(signed)
            } catch (error: NoClassDefFoundError) {
                throw RetvecError("UPDATE_PLATFORM", "Only Android has a reader of JSON: add org.json:json to the app.", error)
            }
            if (found.name != name) throw RetvecError("UPDATE_NAME", "The update is of the model ${found.name}, not of $name.")
            val version = found.version ?: 0
            if (version < 1) throw RetvecError("UPDATE_MANIFEST", "The manifest has no version of the model.")
            if (version <= installed) {
                throw RetvecError("UPDATE_OLD", "The update is version $version of $name, and $installed is installed.")
            }
            return Update(found)
        }

        private fun isSigned(signed: ByteArray, signature: ByteArray, key: String, provider: Provider?): Boolean {
            val keys = key.trim().split(Regex("\\s+"))
            val raw = keys.mapNotNull { fromHex(it)?.takeIf { found -> found.size == KEY_BYTES } }
            if (raw.size < keys.size) throw RetvecError("UPDATE_KEY", "The public key must be 64 hexadecimal digits.")
            if (keys.any(LOW_ORDER::matches)) {
                throw RetvecError("UPDATE_KEY", "Anybody can sign for this public key. Build with the one that retvec-lite make-key wrote.")
            }
            if (signature.size != SIGNATURE_BYTES) return false // Java takes longer ones
            try {
                val own = provider ?: Security.getProviders().firstOrNull(::hasEd25519) ?: throw NoSuchAlgorithmException()
                return raw.any { isSigned(signed, signature, it, own) }
            } catch (error: NoSuchAlgorithmException) {
                throw RetvecError("UPDATE_PLATFORM", "There is no Ed25519 here: pass a provider that has it.", error)
            } catch (error: GeneralSecurityException) {
                throw RetvecError("UPDATE_KEY", "The public key is none of Ed25519: ${error.message}.", error)
            }
        }

        private fun isSigned(signed: ByteArray, signature: ByteArray, key: ByteArray, provider: Provider): Boolean {
            val engine = Signature.getInstance(ED25519, provider)
            engine.initVerify(KeyFactory.getInstance(ED25519, provider).generatePublic(X509EncodedKeySpec(fromHex(X509)!! + key)))
            engine.update(signed)
            return try {
                engine.verify(signature)
            } catch (_: SignatureException) {
                false
            }
        }

        /** Android's key store has the algorithm by name, but takes no keys from outside. */
        private fun hasEd25519(provider: Provider) = !provider.name.startsWith("AndroidKeyStore") &&
            provider.getService("KeyFactory", ED25519) != null && provider.getService("Signature", ED25519) != null

        /** Returns the bytes of hexadecimal digits; null for anything else. */
        private fun fromHex(digits: String): ByteArray? {
            val values = digits.map { if (it.code < 128) Character.digit(it, 16) else -1 }
            if (values.size % 2 != 0 || values.any { it < 0 }) return null
            return ByteArray(values.size / 2) { (16 * values[2 * it] + values[2 * it + 1]).toByte() }
        }
    }
}
