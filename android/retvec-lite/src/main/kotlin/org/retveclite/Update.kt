package org.retveclite

import org.json.JSONException
import org.json.JSONObject
import org.retveclite.UpdateException.Code
import java.io.IOException
import java.security.GeneralSecurityException
import java.security.KeyFactory
import java.security.MessageDigest
import java.security.NoSuchAlgorithmException
import java.security.Provider
import java.security.Security
import java.security.Signature
import java.security.SignatureException
import java.security.spec.X509EncodedKeySpec

/** A model that must not take the place of the installed one; [code] says why to programs, the message to people. */
class UpdateException(val code: Code, message: String, cause: Throwable? = null) : IOException(message, cause) {
    /** The same in every package of retvec-lite. */
    enum class Code {
        /** No public key. */
        UPDATE_KEY,

        /** Signed with another key, or changed since. */
        UPDATE_SIGNATURE,

        /** No manifest, or one of a newer release. */
        UPDATE_MANIFEST,

        /** Of another model. */
        UPDATE_NAME,

        /** Not newer than the installed model. */
        UPDATE_OLD,

        /** Needs a newer release. */
        UPDATE_CONTRACT,

        /** Not listed, half, or other bytes. */
        UPDATE_FILE,

        /** A golden text is answered otherwise. */
        UPDATE_ANSWERS,

        /** No Ed25519 here. */
        UPDATE_PLATFORM,
    }
}

/**
 * An update that was downloaded: [verify] checks signature, name and version, [check] the bytes of a file, and [tryTexts] its answers.
 * Only then may the file take the place of the installed one. docs/updates.md has the whole recipe.
 */
class Update private constructor(
    val name: String,
    val version: Int,
    /** The classes, in the order of the probabilities. */
    val labels: List<String>,
    /** Golden texts, and the labels that every file gives them. */
    val texts: List<Pair<String, List<String>>>,
    /** Name of a file to its bytes and its SHA-256. */
    private val listed: Map<String, Pair<Int, String>>,
) {
    /** The names of the files. */
    val files: Set<String> get() = listed.keys

    /** Checks that [content] is the file that was signed, byte for byte; throws [UpdateException] if not. */
    @Throws(UpdateException::class)
    fun check(file: String, content: ByteArray) {
        val (size, hash) = listed[file] ?: throw UpdateException(Code.UPDATE_FILE, "$file is not in the manifest.")
        val problem = when {
            content.size != size -> "has ${content.size} bytes instead of $size"
            !MessageDigest.getInstance("SHA-256").digest(content).contentEquals(fromHex(hash)) -> "is another file than the manifest lists"
            else -> return
        }
        throw UpdateException(Code.UPDATE_FILE, "$file $problem. Download it again.")
    }

    /**
     * Checks that a file answers the golden texts as it did when it was exported; throws [UpdateException] for the first text that has other
     * labels.
     *
     *     update.tryTexts { text -> classifier.predictAll(text).map { it.label } }
     */
    @Throws(UpdateException::class)
    fun tryTexts(labelsOf: (String) -> Collection<String?>) {
        for ((text, labels) in texts) {
            val found = labelsOf(text).filterNotNull()
            if (found.sorted() == labels.sorted()) continue
            val message = "The update answers $found to \"$text\", not $labels. Keep the installed model."
            throw UpdateException(Code.UPDATE_ANSWERS, message)
        }
    }

    companion object {
        private const val FORMAT = "retvec-lite-manifest"
        private const val MANIFEST_VERSION = 1
        private const val ED25519 = "Ed25519"
        private const val SIGNATURE_BYTES = 64

        /** The newest version of the contract that this library reads. */
        private const val CONTRACT_VERSION = 3

        /** What stands in front of the 32 bytes of a public key of Ed25519 in X.509: RFC 8410. */
        private const val X509 = "302a300506032b6570032100"

        /**
         * Checks the signature, then the name and version that were signed. Nothing is read of what is not signed.
         *
         * @param manifest the exact bytes of `manifest.json`
         * @param signature those of `manifest.json.sig`
         * @param key the public key that the app was built with, 64 hexadecimal digits
         * @param name of the model: no other model of the same key can take its place
         * @param installed version of the installed model; the update must be newer
         * @param provider of Ed25519, such as Conscrypt's or Bouncy Castle's, for systems without; the first one of the system by default
         * @throws UpdateException where anything is wrong
         */
        @JvmStatic
        @JvmOverloads
        @Throws(UpdateException::class)
        fun verify(
            manifest: ByteArray,
            signature: ByteArray,
            key: String,
            name: String,
            installed: Int = 0,
            provider: Provider? = null,
        ): Update {
            val signed = manifest.copyOf()
            if (!isSigned(signed, signature, key, provider)) {
                val message = "The manifest was not signed with this key, or was changed since. Do not use its files."
                throw UpdateException(Code.UPDATE_SIGNATURE, message)
            }
            val fields = read(signed)
            val update = try {
                val found = fields.opt("name").takeUnless { it == JSONObject.NULL }?.let(::string)
                val texts = fields.list("texts") { item -> item.text("text") to item.strings("labels") }
                val files = fields.list("files") { item -> item.text("file") to (item.whole("bytes") to item.text("sha256")) }
                val labels = fields.strings("labels")
                if (found != name) throw UpdateException(Code.UPDATE_NAME, "The update is of the model $found, not of $name.")
                Update(name, fields.whole("version"), labels, texts, files.toMap())
            } catch (error: JSONException) {
                throw unreadable(error.message.orEmpty(), error)
            }
            if (update.version < 1) throw unreadable("it has no version of the model")
            if (update.version <= installed) {
                val message = "The update is version ${update.version} of $name, and $installed is installed."
                throw UpdateException(Code.UPDATE_OLD, message)
            }
            return update
        }

        private fun isSigned(signed: ByteArray, signature: ByteArray, key: String, provider: Provider?): Boolean {
            if (signature.size != SIGNATURE_BYTES) return false // Java takes longer ones
            val raw = fromHex(key)
            if (raw?.size != 32) throw UpdateException(Code.UPDATE_KEY, "The public key must be 64 hexadecimal digits.")
            try {
                val own = provider ?: Security.getProviders().firstOrNull(::hasEd25519) ?: throw NoSuchAlgorithmException()
                val engine = Signature.getInstance(ED25519, own)
                engine.initVerify(KeyFactory.getInstance(ED25519, own).generatePublic(X509EncodedKeySpec(fromHex(X509)!! + raw)))
                engine.update(signed)
                return engine.verify(signature)
            } catch (error: NoSuchAlgorithmException) {
                throw UpdateException(Code.UPDATE_PLATFORM, "There is no Ed25519 here: pass a provider that has it.", error)
            } catch (_: SignatureException) {
                return false
            } catch (error: GeneralSecurityException) {
                throw UpdateException(Code.UPDATE_KEY, "The public key is none of Ed25519: ${error.message}.", error)
            }
        }

        /** Android's key store has the algorithm by name, but takes no keys from outside. */
        private fun hasEd25519(provider: Provider) = !provider.name.startsWith("AndroidKeyStore") &&
            provider.getService("KeyFactory", ED25519) != null && provider.getService("Signature", ED25519) != null

        private fun read(signed: ByteArray): JSONObject {
            val fields = try {
                JSONObject(String(signed, Charsets.UTF_8))
            } catch (error: JSONException) {
                throw unreadable("it is not valid JSON", error)
            }
            if (fields.opt("format") != FORMAT) throw unreadable("its format is not $FORMAT")
            if (fields.opt("manifest_version") != MANIFEST_VERSION) throw unreadable("it is of another version; update retvec-lite")
            // Before the rest, which a newer contract may have changed.
            val contract = fields.opt("contract_version") as? Int ?: throw unreadable("it has no contract_version")
            if (contract !in 1..CONTRACT_VERSION) {
                val message = "The files follow version $contract of the contract, and this library knows $CONTRACT_VERSION at most. Update it first."
                throw UpdateException(Code.UPDATE_CONTRACT, message)
            }
            return fields
        }

        private fun unreadable(why: String, cause: Throwable? = null) =
            UpdateException(Code.UPDATE_MANIFEST, "The manifest cannot be read: $why.", cause)

        // The getters of JSONObject make one type of another.
        private fun JSONObject.text(name: String) = string(get(name))

        private fun JSONObject.whole(name: String) = get(name) as? Int ?: throw JSONException("$name is no whole number")

        private fun JSONObject.strings(name: String): List<String> = getJSONArray(name).let { list -> List(list.length()) { string(list.get(it)) } }

        private fun <T> JSONObject.list(name: String, part: (JSONObject) -> T): List<T> =
            getJSONArray(name).let { list -> List(list.length()) { part(list.getJSONObject(it)) } }

        private fun string(value: Any) = value as? String ?: throw JSONException("$value is no string")

        /** Returns the bytes of hexadecimal digits; null for anything else. */
        private fun fromHex(digits: String): ByteArray? {
            val values = digits.map { if (it.code < 128) Character.digit(it, 16) else -1 }
            if (values.size % 2 != 0 || values.any { it < 0 }) return null
            return ByteArray(values.size / 2) { (16 * values[2 * it] + values[2 * it + 1]).toByte() }
        }
    }
}
