import Testing

@testable import RelayServer

@Suite("The files that an upstream's section names")
struct UpstreamFilesTests {
  @Test("those in force fit no section that names others")
  func fit() throws {
    let old = try #require(try Fixture.configuration(["a"]).upstreams.first)
    var new = old
    new.certificateAuthorities = "/authorities.pem"
    let files = UpstreamFiles()
    #expect(files.fit(old) && !files.fit(new))
  }

  @Test("a trial that meets another configuration's files says to try again")
  func trial() async throws {
    let upstream = try #require(try Fixture.configuration(["a"]).upstreams.first)
    let target = try upstream.target()
    var new = upstream
    new.certificateAuthorities = "/authorities.pem"
    let trial = try #require(await UpstreamTrial.run(new, as: target))
    #expect(!trial.isGood && trial.words.contains("try once more"), "\(trial.words)")
  }
}
