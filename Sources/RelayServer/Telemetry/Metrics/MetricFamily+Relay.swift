import RelayCore

extension MetricFamily {
  /// The relay itself.
  static let relay: [MetricFamily] = [
    build, spare, passedRequests,
    MetricFamily(.gauge, "waystation_draining", "1 while the relay shuts down, else 0.") {
      $0.isDraining ? 1 : 0
    },
    MetricFamily(
      .gauge, "waystation_needs", ["kind", "severity"],
      "Things that need somebody, those included that /status leaves out."
    ) { view, writer in
      for kind in NeedKind.allCases {
        for severity in NeedSeverity.allCases {
          writer.sample(kind.rawValue, severity.rawValue, value: view.needs[kind, severity])
        }
      }
    },
    certificateEnds,
  ]

  /// When certificates end.
  static let certificateEnds = MetricFamily(
    .gauge, "waystation_certificate_remaining_seconds", ["certificate"],
    "Time until a certificate or a revocation list of the relay ends; below 0 once it has."
  ) { view, writer in
    for certificate in view.certificateEnds {
      writer.sample(certificate.what, endsAt: certificate.endsAt, now: view.now)
    }
  }

  /// Posts of senders.
  static let posts: [MetricFamily] = [
    MetricFamily(
      .counter, "waystation_posted_envelopes", ["result"],
      "Envelopes that were posted, by what became of them; a post that is refused whole is one."
    ) { view, writer in
      for result in PostFigures.Result.allCases {
        writer.sample(result.rawValue, value: view.posts.results[result] ?? 0)
      }
    },
    MetricFamily(
      .counter, "waystation_shed_posts", ["reason"],
      "Posts that were refused since the relay had too much to do."
    ) { view, writer in
      for refusal in AdmissionControl.Refusal.allCases {
        writer.sample(refusal.label, value: view.shed[refusal] ?? 0)
      }
    },
    MetricFamily(
      .counter, "waystation_quota_refusals", ["limit"],
      "Requests and envelopes that a quota had no room for."
    ) { view, writer in
      for limit in QuotaRefusal.limitNames {
        writer.sample(limit, value: view.posts.quotas[limit] ?? 0)
      }
    },
    MetricFamily(
      .histogram, "waystation_store_wait_seconds", [],
      "How long posts waited until the store had their envelopes on disk."
    ) { $1.histogram(value: $0.storeWaits) },
  ]

  /// Envelopes whose bodies come in by several requests.
  static let uploads: [MetricFamily] = [
    MetricFamily(.gauge, "waystation_open_uploads", "Uploads that are open.") {
      Int64($0.uploads.open)
    },
    MetricFamily(
      .gauge, "waystation_open_upload_bytes", "Bytes that open uploads claim of quotas."
    ) { $0.uploads.openBytes },
    MetricFamily(
      .counter, "waystation_uploads", ["event"], "Uploads, by what has happened to them."
    ) { view, writer in
      for event in UploadFigures.Event.allCases {
        writer.sample(event.rawValue, value: view.uploads.counts[event] ?? 0)
      }
    },
  ]
}
