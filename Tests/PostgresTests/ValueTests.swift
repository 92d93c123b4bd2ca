#if PostgreSQL
import Postgres
import PostgresTesting
import Testing

@Suite(
  "Values of a database",
  .enabled(if: TestDatabase.isInstalled, "PostgreSQL is not installed: scripts/setup test"))
struct ValueTests {
  private static let texts = [
    "", "a", "it's \"quoted\"", #"back\slash \n \x00 {,} NULL"#, "null", "NULL",
    "ümläut 日本 👩🏽‍🚀\u{1}", "two\nlines\r\n\t", String(repeating: "é", count: 100_000),
  ]
  private static let byteStrings: [[UInt8]] = [
    [], [0], [0, 0, 255], [UInt8](0...255), [0x5C, 0x78, 0x27],
    (0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) },
  ]
  private static let uuid = (0..<16).map { UInt8($0 * 17) }

  @Test("numbers come back as they were sent")
  func numbers() throws {
    var connection = try TestDatabase.fresh().connect()
    for number in [Int64.min, -1, 0, 1, 255, 256, 1 << 40, .max] {
      let (small, tiny) = (Int32(truncatingIfNeeded: number), Int16(truncatingIfNeeded: number))
      let rows = try connection.run([
        PostgresCommand(
          "SELECT $1, $2, $3, $4", [.int64(number), .int32(small), .int16(tiny), .bool(number > 0)])
      ])[0]
      #expect(rows.count == 1)
      #expect(rows.int64(0, 0) == number)
      #expect(rows.int32(0, 1) == small)
      #expect(rows.int64(0, 1) == Int64(small))
      #expect(rows.int16(0, 2) == tiny)
      #expect(rows.int32(0, 2) == Int32(tiny))
      #expect(rows.bool(0, 3) == (number > 0))
    }
  }

  @Test("texts, bytes and UUIDs come back as they were sent")
  func strings() throws {
    var connection = try TestDatabase.fresh().connect()
    for text in Self.texts {
      let rows = try connection.run(sql: "SELECT $1, length($1)", [.text(text)])
      #expect(rows.text(0, 0) == text)
      #expect(rows.int32(0, 1) == Int32(text.unicodeScalars.count))
    }
    for bytes in Self.byteStrings {
      let rows = try connection.run(sql: "SELECT $1, length($1)", [.bytes(bytes)])
      #expect(rows.bytes(0, 0) == bytes)
      #expect(rows.int32(0, 1) == Int32(bytes.count))
    }
    let rows = try connection.run(sql: "SELECT $1, $1::text", [.uuid(Self.uuid)])
    #expect(rows.uuid(0, 0) == Self.uuid)
    #expect(rows.text(0, 1) == "00112233-4455-6677-8899-aabbccddeeff")
  }

  @Test("NULL comes back as nil, of every type")
  func nulls() throws {
    var connection = try TestDatabase.fresh().connect()
    let rows = try connection.run(
      sql: "SELECT $1, $2, $3, $4, $5, $6, $7",
      [.int64(nil), .int32(nil), .int16(nil), .bool(nil), .text(nil), .bytes(nil), .uuid(nil)])
    #expect((0..<7).allSatisfy { rows.isNull(0, $0) })
    #expect(rows.int64OrNil(0, 0) == nil)
    #expect(rows.int32OrNil(0, 1) == nil)
    #expect(rows.int16OrNil(0, 2) == nil)
    #expect(rows.boolOrNil(0, 3) == nil)
    #expect(rows.textOrNil(0, 4) == nil)
    #expect(rows.bytesOrNil(0, 5) == nil)
    #expect(rows.uuidOrNil(0, 6) == nil)
    let there = try connection.run(
      sql: "SELECT $1, $2, $3, $4, $5, $6, $7",
      [
        .int64(-5), .int32(-6), .int16(-7), .bool(true), .text(""), .bytes([]), .uuid(Self.uuid),
      ])
    #expect((0..<7).allSatisfy { !there.isNull(0, $0) })
    #expect(there.int64OrNil(0, 0) == -5)
    #expect(there.int32OrNil(0, 1) == -6)
    #expect(there.int16OrNil(0, 2) == -7)
    #expect(there.boolOrNil(0, 3) == true)
    #expect(there.textOrNil(0, 4) == "")
    #expect(there.bytesOrNil(0, 5) == [])
    #expect(there.uuidOrNil(0, 6) == Self.uuid)
  }

  @Test("arrays of every type arrive with their NULLs and in their order")
  func arrays() throws {
    var connection = try TestDatabase.fresh().connect()
    let rows = try connection.run(
      sql: """
        SELECT * FROM unnest($1::int8[], $2::int4[], $3::int2[], $4::bool[], $5::text[],
          $6::bytea[], $7::uuid[])
        """,
      [
        .int64s([.min, nil, .max]), .int32s([nil, -2, .max]), .int16s([1, .min, nil]),
        .bools([true, nil, false]), .texts([#"{"a\,"#, nil, ""]), .byteStrings([nil, [], [0, 1]]),
        .uuids([Self.uuid, nil, Self.uuid]),
      ])
    #expect(rows.count == 3)
    let all = 0..<3
    #expect(all.map { rows.int64OrNil($0, 0) } == [.min, nil, .max])
    #expect(all.map { rows.int32OrNil($0, 1) } == [nil, -2, .max])
    #expect(all.map { rows.int16OrNil($0, 2) } == [1, .min, nil])
    #expect(all.map { rows.boolOrNil($0, 3) } == [true, nil, false])
    #expect(all.map { rows.textOrNil($0, 4) } == [#"{"a\,"#, nil, ""])
    #expect(all.map { rows.bytesOrNil($0, 5) } == [nil, [], [0, 1]])
    #expect(all.map { rows.uuidOrNil($0, 6) } == [Self.uuid, nil, Self.uuid])
    let texts = try connection.run(sql: "SELECT unnest($1)", [.texts(Self.texts)])
    #expect((0..<texts.count).map { texts.text($0, 0) } == Self.texts)
    let bytes = try connection.run(sql: "SELECT unnest($1)", [.byteStrings(Self.byteStrings)])
    #expect((0..<bytes.count).map { bytes.bytes($0, 0) } == Self.byteStrings)
  }

  @Test("an array may be empty, and an array of int8 can be read")
  func emptyArrays() throws {
    var connection = try TestDatabase.fresh().connect()
    let rows = try connection.run(
      sql: """
        SELECT cardinality($1), cardinality($2), cardinality($3), cardinality($4),
          cardinality($5), cardinality($6), cardinality($7), $1, $8
        """,
      [
        .int64s([]), .int32s([]), .int16s([]), .bools([]), .texts([]), .byteStrings([]),
        .uuids([]), .int64s([.min, 0, .max]),
      ])
    #expect((0..<7).allSatisfy { rows.int32(0, $0) == 0 })
    #expect(rows.int64s(0, 7) == [])
    #expect(rows.int64s(0, 8) == [.min, 0, .max])
  }

  @Test("a transaction's number, and the types of the catalogue, can be read")
  func catalogue() throws {
    var connection = try TestDatabase.fresh().connect()
    let rows = try connection.run(
      sql: """
        SELECT pg_snapshot_xmin(pg_current_snapshot()), current_database(), 'a', 'b'::varchar,
          '{"c": 1}'::json, count(*) FROM pg_class WHERE false
        """)
    #expect(rows.int64(0, 0) > 0)
    #expect((1..<5).map { rows.text(0, $0) } == ["postgres", "a", "b", #"{"c": 1}"#])
    #expect(rows.int64(0, 5) == 0)
  }

  @Test("a text with a character 0 is refused before anything is sent, and so is 1 GB")
  func refused() throws {
    var connection = try TestDatabase.fresh().connect()
    try connection.execute(script: "CREATE TABLE a (b int8)")
    let insert = PostgresCommand("INSERT INTO a VALUES (1)")
    for value in [PostgresValue.text("a\0"), .texts(["a", nil, "\0"])] {
      let error = connection.failure(of: [insert, PostgresCommand("SELECT $1", [value])])
      #expect(error?.kind == .rejected)
      #expect(error?.sqlState == "22021")
    }
    let part = [UInt8](repeating: 0, count: 64 << 20)
    let large = PostgresValue.byteStrings([[UInt8]?](repeating: part, count: 16))
    let error = connection.failure(of: [insert, PostgresCommand("SELECT $1", [large])])
    #expect(error?.kind == .rejected)
    #expect(error?.sqlState == "54000")
    #expect(connection.failure(of: "SELECT 1\0")?.kind == .rejected)
    let isUsable = connection.isUsable
    #expect(isUsable)
    #expect(try connection.run(sql: "SELECT count(*) FROM a").int64(0, 0) == 0)
  }
}
#endif
