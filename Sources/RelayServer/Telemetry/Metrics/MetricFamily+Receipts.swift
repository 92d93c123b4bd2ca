import RelayCore

extension MetricFamily {
  /// The receipts of what is accepted.
  static let receipts: [MetricFamily] = [
    MetricFamily(
      .counter, "waystation_receipt_groups",
      "Groups of receipts that were made: transactions with numbered envelopes."
    ) { $0.statistics.receipts.madeCount },
    MetricFamily(
      .counter, "waystation_receipted_envelopes", "Envelopes that these groups cover."
    ) { $0.statistics.receipts.coveredCount },
    MetricFamily(
      .gauge, "waystation_kept_receipt_groups",
      "Groups of receipts that are kept, and can be asked for."
    ) { $0.statistics.receipts.keptCount },
    MetricFamily(
      .histogram, "waystation_receipt_signature_duration_seconds", [],
      "How long it took to sign groups of receipts that were asked for."
    ) { $1.histogram(value: $0.signatureTimes) },
  ]
}
