import Cryptography

/// A client's certificate chain, and the context that last verified it.
struct VerifiedClientCertificate: Sendable {
  let chain: PeerChain
  let context: TLSContext
}
