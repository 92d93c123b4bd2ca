extension JSONWriter {
  /// Writes a member whose value `content` writes.
  package mutating func member(
    _ name: String, _ content: (inout JSONWriter) throws -> Void
  ) rethrows {
    self.name(name)
    try content(&self)
  }

  /// Writes a member that is a string.
  package mutating func member(_ name: String, _ value: String) {
    self.name(name)
    string(value)
  }

  /// Writes a member that is a whole number.
  package mutating func member(_ name: String, _ value: some BinaryInteger) {
    self.name(name)
    integer(value)
  }

  /// Writes a member that is a whole number.
  package mutating func member(_ name: String, _ value: Int) {
    self.name(name)
    integer(value)
  }

  /// Writes a member that is a number.
  package mutating func member(_ name: String, _ value: Double) {
    self.name(name)
    double(value)
  }

  /// Writes a member that is `true` or `false`.
  package mutating func member(_ name: String, _ value: Bool) {
    self.name(name)
    bool(value)
  }

  /// Writes a member whose value is already JSON, byte for byte.
  package mutating func member(_ name: String, raw value: some Collection<UInt8>) {
    self.name(name)
    self.raw(value)
  }

  /// Writes a member that is an object; `content` writes its members.
  package mutating func memberObject(
    _ name: String, _ content: (inout JSONWriter) throws -> Void
  ) rethrows {
    self.name(name)
    try object(content)
  }

  /// Writes a member that is an array; `content` writes its elements.
  package mutating func memberArray(
    _ name: String, _ content: (inout JSONWriter) throws -> Void
  ) rethrows {
    self.name(name)
    try array(content)
  }
}
