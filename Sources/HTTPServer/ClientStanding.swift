import Cryptography

/// What a client has shown of itself, and what that was last verified with.
struct ClientStanding: Sendable {
  let chain: PeerChain
  let context: TLSContext
}
