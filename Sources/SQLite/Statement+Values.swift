import RelayCore

/// A value that a statement takes as a parameter.
@usableFromInline
package protocol Bindable {
  /// Binds the value; SQLite keeps a copy of text and bytes.
  func bind(to statement: borrowing Statement, at index: Int32)
}

/// The place of a parameter that is not given.
@usableFromInline
package struct Unbound: Bindable {
  /// Stands for no parameter.
  @inlinable package init() {}

  /// Binds nothing.
  @inlinable package func bind(to statement: borrowing Statement, at index: Int32) {}
}

// Values are named in the order of the statement's parameters. Each of these functions is compiled
// for the types that it is called with. A parameter pack would be shorter here, and take 20 ns more
// for each value.
extension Statement {
  /// Binds a statement's first parameters.
  @inlinable @inline(__always)
  package func set<
    A: Bindable, B: Bindable, C: Bindable, D: Bindable, E: Bindable, F: Bindable, G: Bindable,
    H: Bindable, I: Bindable, J: Bindable, K: Bindable, L: Bindable, M: Bindable, N: Bindable,
    O: Bindable, P: Bindable
  >(
    _ a: A, _ b: B = Unbound(), _ c: C = Unbound(), _ d: D = Unbound(), _ e: E = Unbound(),
    _ f: F = Unbound(), _ g: G = Unbound(), _ h: H = Unbound(), _ i: I = Unbound(),
    _ j: J = Unbound(), _ k: K = Unbound(), _ l: L = Unbound(), _ m: M = Unbound(),
    _ n: N = Unbound(), _ o: O = Unbound(), _ p: P = Unbound()
  ) {
    a.bind(to: self, at: 1)
    b.bind(to: self, at: 2)
    c.bind(to: self, at: 3)
    d.bind(to: self, at: 4)
    e.bind(to: self, at: 5)
    f.bind(to: self, at: 6)
    g.bind(to: self, at: 7)
    h.bind(to: self, at: 8)
    i.bind(to: self, at: 9)
    j.bind(to: self, at: 10)
    k.bind(to: self, at: 11)
    l.bind(to: self, at: 12)
    m.bind(to: self, at: 13)
    n.bind(to: self, at: 14)
    o.bind(to: self, at: 15)
    p.bind(to: self, at: 16)
  }

  /// Binds one parameter; its number begins with 1.
  @inlinable @inline(__always)
  package func bind<Value: Bindable>(_ index: Int32, _ value: Value) {
    value.bind(to: self, at: index)
  }

  /// Runs a statement that returns no rows, with these values.
  @inlinable @inline(__always)
  package func run<
    A: Bindable, B: Bindable, C: Bindable, D: Bindable, E: Bindable, F: Bindable, G: Bindable,
    H: Bindable, I: Bindable, J: Bindable, K: Bindable, L: Bindable, M: Bindable
  >(
    _ a: A, _ b: B = Unbound(), _ c: C = Unbound(), _ d: D = Unbound(), _ e: E = Unbound(),
    _ f: F = Unbound(), _ g: G = Unbound(), _ h: H = Unbound(), _ i: I = Unbound(),
    _ j: J = Unbound(), _ k: K = Unbound(), _ l: L = Unbound(), _ m: M = Unbound()
  ) throws(StoreError) {
    set(a, b, c, d, e, f, g, h, i, j, k, l, m)
    try run()
  }

  /// Reads the first row for these values; nil if there is none.
  @inlinable @inline(__always)
  package func first<
    A: Bindable, B: Bindable, C: Bindable, D: Bindable, E: Bindable, F: Bindable, G: Bindable,
    H: Bindable, I: Bindable, J: Bindable, Row
  >(
    _ a: A = Unbound(), _ b: B = Unbound(), _ c: C = Unbound(), _ d: D = Unbound(),
    _ e: E = Unbound(), _ f: F = Unbound(), _ g: G = Unbound(), _ h: H = Unbound(),
    _ i: I = Unbound(), _ j: J = Unbound(),
    read: (borrowing Statement) throws(StoreError) -> Row
  ) throws(StoreError) -> Row? {
    set(a, b, c, d, e, f, g, h, i, j)
    guard try step() else { return nil }
    defer { reset() }
    return try read(self)
  }

  /// Whether there is a row for these values.
  @inlinable
  package func hasRow<A: Bindable, B: Bindable>(_ a: A, _ b: B = Unbound()) throws(StoreError)
    -> Bool
  {
    try first(a, b) { _ in true } ?? false
  }

  /// Reads every row for these values.
  @inlinable
  package func rows<A: Bindable, B: Bindable, C: Bindable, Row>(
    _ a: A = Unbound(), _ b: B = Unbound(), _ c: C = Unbound(),
    read: (borrowing Statement) throws(StoreError) -> Row
  ) throws(StoreError) -> [Row] {
    set(a, b, c)
    defer { reset() }
    var rows: [Row] = []
    while try step() { rows.append(try read(self)) }
    return rows
  }

  /// Reads a page of rows for these values, which are followed by the statement's limit.
  ///
  /// - Returns: The rows, at most so many, and whether there are more.
  @inlinable
  package func page<A: Bindable, B: Bindable, Row>(
    _ a: A, _ b: B = Unbound(), countMax: Int,
    read: (borrowing Statement) throws(StoreError) -> Row
  ) throws(StoreError) -> (rows: [Row], hasMore: Bool) {
    set(a, b)
    bind(parameterCount, Int64(countMax) + 1)
    defer { reset() }
    var rows: [Row] = []
    while try step() {
      guard rows.count < countMax else { return (rows, true) }
      rows.append(try read(self))
    }
    return (rows, false)
  }
}

extension Optional: Bindable where Wrapped: Bindable {
  /// Binds the value, or NULL.
  @inlinable @inline(__always)
  package func bind(to statement: borrowing Statement, at index: Int32) {
    if let self { self.bind(to: statement, at: index) } else { statement.bindNull(index) }
  }
}

/// A value that is stored as an integer.
@usableFromInline
package protocol BindableInteger: Bindable {
  /// The integer.
  var code: Int64 { get }
}

extension BindableInteger {
  /// Binds the value.
  @inlinable @inline(__always)
  package func bind(to statement: borrowing Statement, at index: Int32) {
    statement.bind(index, code)
  }
}

extension Int64: BindableInteger {
  /// The integer.
  @inlinable package var code: Int64 { self }
}

extension Int: BindableInteger {
  /// The integer.
  @inlinable package var code: Int64 { Int64(self) }
}

extension Int32: BindableInteger {
  /// The integer.
  @inlinable package var code: Int64 { Int64(self) }
}

extension Bool: BindableInteger {
  /// The integer.
  @inlinable package var code: Int64 { self ? 1 : 0 }
}

extension String: Bindable {
  /// Binds the value.
  @inlinable
  package func bind(to statement: borrowing Statement, at index: Int32) {
    statement.bind(index, self)
  }
}

extension [UInt8]: Bindable {
  /// Binds the value.
  @inlinable
  package func bind(to statement: borrowing Statement, at index: Int32) {
    statement.bind(index, self)
  }
}

extension StoredValue: Bindable {
  /// Binds the value.
  @inlinable
  package func bind(to statement: borrowing Statement, at index: Int32) {
    statement.bind(index, self)
  }
}

// The values in the columns of the present row.
extension Statement {
  /// Whether a number is not 0.
  @inlinable
  package func bool(_ column: Int32) -> Bool { int(column) != 0 }

  /// A number of 32 bits.
  @inlinable
  package func int32(_ column: Int32) -> Int32 { Int32(truncatingIfNeeded: int(column)) }
}
