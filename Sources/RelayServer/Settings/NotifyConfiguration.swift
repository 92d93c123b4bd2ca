import RelayCore

/// The configuration of who is told when somebody is needed; nobody without an upstream.
package struct NotifyConfiguration: KeyedSection, Sendable {
  package var upstream: String?
  package var path = "/"

  /// Nobody is told.
  package init() {}

  /// Who is told; nil for nobody.
  var receiver: NeedNews.Receiver? {
    upstream.map { NeedNews.Receiver(upstream: $0, path: path) }
  }

  @KeyList static var keys: [Key] {
    Key(
      "upstream", \.upstream, .unlessAbsent(.text("the name of an upstream") { !$0.isEmpty }),
      absent: "nobody is told",
      "the upstream that is told of each change of [what needs somebody](operating.md#be-told)")
    Key(
      "path", \.path,
      .text("a path with its query, from the leading `/`") {
        TargetSyntax.refusal(of: Array($0.utf8)[...]) == nil
      },
      "where it takes the messages")
  }
}
