/// What bounds the size of `/metrics`, and so what a server that collects it has to keep.
package enum MetricsLimits {
  /// How many upstreams have series of their own: the first of the configuration.
  ///
  /// All others share those of ``otherUpstream``, as do upstreams that are not configured any more.
  package static let upstreamsMax = 100

  /// The label of whatever has none of its own; no upstream can be called so.
  package static let otherUpstream = "(other)"
}
