import WaystationOutboxTesting

@testable import WaystationOutbox

import struct RelayCore.LaneChain

// Whether receipts are what they are said to be.
extension Simulation {
  /// A relay that neither lies nor was put back gives no reason to doubt it.
  func check(_ fault: CustodyFault, of lane: Lane) {
    if !lies, !wasRestored {
      broken.append("an honest relay was not believed in \(lane): \(fault)")
    }
  }

  /// The link of a receipt is that of all that was sent, as far as the device has compared it.
  func check(_ receipt: Receipt) {
    guard receipt.checkedFrom == receipt.begin, !wasRestored else { return }
    if relay.link(of: receipt.lane.name, as: receipt.json) != receipt.link {
      broken.append("a receipt of \(receipt.lane) was taken for what was not sent: \(receipt.last)")
    }
  }

  /// A body that is gone under custody `.receipt` has a receipt that was verified, and none is gone
  /// of an item of an evidence lane.
  func checkBodies() throws {
    guard let core else { return }
    if settings.lane("skip").evidence {
      for item in try core.file.items(after: 0, countMax: 1000)
      where core.name(of: item.lane) == "skip" {
        if try core.file.content(of: item.id) == nil { broken.append("item \(item.id) is gone") }
      }
    }
    let kept = Set(
      ["block", "skip"].filter {
        settings.lane($0).custody == .receipt && !settings.lane($0).evidence
      })
    guard !kept.isEmpty else { return }
    var gone: [KeptItem] = []
    for item in try core.file.items(after: 0, countMax: 1000)
    where item.isHanded && kept.contains(core.name(of: item.lane)) {
      if try core.file.content(of: item.id) == nil { gone.append(item) }
    }
    guard !gone.isEmpty else { return }
    let receipts = try core.file.allReceipts()
    for item in gone {
      let number = Int64(item.sequence ?? 0)
      let isReceipted = receipts.contains { lane, receipt in
        lane == item.lane && receipt.checkedFrom <= number
          && number <= receipt.signed.chain.last
      }
      if !isReceipted { broken.append("item \(item.id) is gone without a receipt") }
    }
  }
}
