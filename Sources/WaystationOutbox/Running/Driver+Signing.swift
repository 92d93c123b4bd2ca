import RelayCore

extension Driver {
  /// Has the signer sign, one after the other, until it fails.
  func sign(_ tasks: [SigningTask]) async {
    guard let signer = settings.signer else { return }
    var signed: [(task: SigningTask, signature: [UInt8])] = []
    var failure: String?
    for task in tasks {
      do {
        signed.append((task, try await signer.sign(task.message)))
      } catch {
        failure = (error as? RecordedError)?.message ?? "\(error)"
        break
      }
    }
    await persist { [signed, failure] core, now throws(StoreError) in
      try core.takeSignatures(signed, failure: failure, at: now)
    }
  }
}
