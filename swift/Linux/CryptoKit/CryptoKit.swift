/// What `RetvecUpdate` uses of CryptoKit, on OpenSSL: for tests on Linux.
import COpenSSL
import Foundation

public enum SHA256 {
    public static func hash(data: Data) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        _ = COpenSSL.SHA256([UInt8](data), data.count, &digest)
        return digest
    }
}

public enum Curve25519 {
    public enum Signing {
        public struct PublicKey {
            private let bytes: [UInt8]

            public init(rawRepresentation: Data) throws {
                guard rawRepresentation.count == 32 else { throw CocoaError(.coderInvalidValue) }
                bytes = [UInt8](rawRepresentation)
            }

            public func isValidSignature(_ signature: Data, for data: Data) -> Bool {
                let key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, bytes, bytes.count)
                let context = EVP_MD_CTX_new()
                defer {
                    EVP_MD_CTX_free(context)
                    EVP_PKEY_free(key)
                }
                return EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1
                    && EVP_DigestVerify(context, [UInt8](signature), signature.count, [UInt8](data), data.count) == 1
            }
        }
    }
}
