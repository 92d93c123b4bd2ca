/// The limits on the size of `/metrics`, and so on what a collecting server has to keep.
package enum MetricsLimits {
  /// The most upstreams with series of their own: the first of the configuration.
  ///
  /// All others share those of ``otherUpstream``, as do upstreams that are not configured any more.
  package static let upstreamsMax = 100

  /// The label of whatever has none of its own; no upstream can be called so.
  package static let otherUpstream = "(other)"
}
