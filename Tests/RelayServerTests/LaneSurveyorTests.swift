import EventLoop
import RelayCore
import Synchronization
import Testing

@testable import RelayServer

@Suite("Who has surveys made", .timeLimit(.minutes(5)))
struct LaneSurveyorTests {
  private static let pieceCount = 100
  private let loop: EventLoop
  private let scheduler: Scheduler

  init() throws {
    loop = try EventLoop(name: "survey-test")
    let now = Now(
      wall: WallTime(millisecondsSinceEpoch: 1_800_000_000_000),
      monotonic: MonotonicTime(nanoseconds: 0))
    var scheduler = Scheduler(
      upstreams: [UpstreamNumber(rawValue: 1): UpstreamPolicy()], epoch: 1, seed: 1, now: now)
    for number in 1...Int64(Self.pieceCount / 2) {
      _ = scheduler.accepted(
        LineEntry(
          serial: number, client: ClientNumber(rawValue: number),
          lane: LaneNumber(rawValue: number), upstream: UpstreamNumber(rawValue: 1),
          acceptedAt: now.wall, expiresAt: now.wall.adding(milliseconds: 1_000_000),
          standing: .held, onFailure: .skip, dueAt: nil),
        now: now)
    }
    self.scheduler = scheduler
  }

  /// What a survey was made of, and what came between.
  private struct Course: Sendable {
    var lookCount = 0
    var lookCountsOfOthers: [Int] = []
  }

  @Test("between two pieces others have their turn on the loop")
  func yielding() async {
    defer { loop.stop() }
    let surveyor = LaneSurveyor { MonotonicTime(nanoseconds: 0) }
    let course = SharedCourse()
    let (loop, scheduler) = (loop, scheduler)
    await Task(executorPreference: loop) {
      _ = await surveyor.survey { survey in
        scheduler.advance(&survey, countMax: 1)
        course.look()
        loop.execute { course.noteOther() }
      }
    }.value
    #expect(course.lookCount == Self.pieceCount)
    // Not all of them behind the last piece.
    #expect(course.lookCountsOfOthers.first ?? Self.pieceCount < Self.pieceCount / 2)
  }

  @Test("one survey at a time is made, which all get who ask meanwhile, and for a while after it")
  func shared() async {
    defer { loop.stop() }
    let course = SharedCourse()
    let surveyor = LaneSurveyor { course.now }
    let (loop, scheduler) = (loop, scheduler)
    let look: @Sendable (inout LaneSurvey) -> Void = { survey in
      scheduler.advance(&survey, countMax: 1)
      course.look()
    }
    await Task(executorPreference: loop) {
      async let first = surveyor.survey(look)
      async let second = surveyor.survey(look)
      async let third = surveyor.survey(look)
      for survey in await [first, second, third] {
        #expect(survey.heads[UpstreamNumber(rawValue: 1)]?.waiting == Self.pieceCount / 2)
      }
    }.value
    // The others have looked at no more than shows that there is too much to look at.
    #expect(course.lookCount <= Self.pieceCount + 4)
    let before = course.lookCount
    #expect(await surveyor.survey(look).isOver)
    #expect(course.lookCount == before)
    course.rest()
    #expect(await surveyor.survey(look).isOver)
    #expect(course.lookCount == before + Self.pieceCount)
  }

  @Test("where one look shows all, each who asks gets one of now")
  func small() async {
    defer { loop.stop() }
    let course = SharedCourse()
    let surveyor = LaneSurveyor { course.now }
    for round in 1...3 {
      let survey = await surveyor.survey { survey in
        scheduler.advance(&survey, countMax: 1000)
        course.look()
      }
      #expect(survey.isOver && course.lookCount == 2 * round)
    }
  }

  /// The course, for several threads; each look takes a millisecond.
  private final class SharedCourse: Sendable {
    private let state = Mutex((course: Course(), nanoseconds: Int64(0)))

    var lookCount: Int { state.withLock { $0.course.lookCount } }
    var lookCountsOfOthers: [Int] { state.withLock { $0.course.lookCountsOfOthers } }
    var now: MonotonicTime { MonotonicTime(nanoseconds: state.withLock { $0.nanoseconds }) }

    func look() {
      state.withLock { state in
        state.course.lookCount += 1
        state.nanoseconds += 1_000_000
      }
    }

    func noteOther() {
      state.withLock { $0.course.lookCountsOfOthers.append($0.course.lookCount) }
    }

    /// More time passes than a survey is given out again.
    func rest() { state.withLock { $0.nanoseconds += 1_000_000_000_000 } }
  }
}
