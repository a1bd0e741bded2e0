package org.retveclite

import org.json.JSONException
import org.json.JSONObject

/** What `manifest.json` holds, and more, such as the figures of the training; [files] are name to bytes and SHA-256. */
internal class Manifest(
    val name: String?,
    val version: Int?,
    val labels: List<String>,
    val texts: List<Pair<String, List<String>>>,
    val files: Map<String, Pair<Int, String>>,
)

/** Reads `manifest.json`, on its own because plain JVMs have no org.json: those that check no updates do without. */
internal object ManifestReader {
    private const val FORMAT = "retvec-lite-manifest"
    private const val MANIFEST_VERSION = 1

    /** The version of the contract that this library reads. */
    private const val CONTRACT_VERSION = 3

    fun read(signed: ByteArray): Manifest = try {
        val fields = JSONObject(String(signed, Charsets.UTF_8))
        if (fields.opt("format") != FORMAT) throw JSONException("its format is not $FORMAT")
        if (fields.opt("manifest_version") != MANIFEST_VERSION) throw JSONException("it is of another version; update retvec-lite")
        // Before the rest, which a newer contract may have changed.
        val contract = whole(fields.get("contract_version"))
        if (contract != CONTRACT_VERSION) {
            throw RetvecError("UPDATE_CONTRACT", "The files follow version $contract of the contract. Update retvec-lite first.")
        }
        Manifest(
            fields.opt("name").takeUnless { it == JSONObject.NULL }?.let(::string),
            fields.opt("version").takeUnless { it == JSONObject.NULL }?.let(::whole),
            strings(fields, "labels"),
            list(fields, "texts") { string(it.get("text")) to strings(it, "labels") },
            list(fields, "files") { string(it.get("file")) to (whole(it.get("bytes")) to string(it.get("sha256"))) }.toMap(),
        )
    } catch (error: JSONException) {
        throw RetvecError("UPDATE_MANIFEST", "The manifest cannot be read: ${error.message}.", error)
    }

    // The getters of JSONObject make one type of another.
    private fun string(value: Any) = value as? String ?: throw JSONException("$value is no string")

    private fun whole(value: Any) = value as? Int ?: throw JSONException("$value is no whole number")

    private fun strings(fields: JSONObject, name: String): List<String> =
        fields.getJSONArray(name).let { list -> List(list.length()) { string(list.get(it)) } }

    private fun <T> list(fields: JSONObject, name: String, part: (JSONObject) -> T): List<T> =
        fields.getJSONArray(name).let { list -> List(list.length()) { part(list.getJSONObject(it)) } }
}
