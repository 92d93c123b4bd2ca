import Foundation
import Testing

extension EndToEnd {
  @Suite("Completions")
  struct Completions {
    /// What bash offers at the end of a command line.
    private func offered(_ words: String...) async throws -> [String] {
      let script = """
        source <("$0" completions bash)
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
        _waystation
        printf '%s\\n' "${COMPREPLY[@]}"
        """
      let process = try ChildProcess(
        "/bin/bash", ["-c", script, Waystation.path, "waystation"] + words)
      #expect(try await process.ending() == .exit(0), "\(process.errors)")
      return process.output.split(separator: "\n").map(String.init)
    }

    @Test("bash is offered commands, what they do, their options and the words of these")
    func bash() async throws {
      #expect(try await offered("ex") == ["export"])
      #expect(try await offered("upstreams", "p") == ["pause", "probe"])
      #expect(try await offered("envelopes", "list", "--stat") == ["--state", "--status"])
      #expect(try await offered("envelopes", "list", "--state", "b") == ["blocked"])
      let ofStore = try await offered("store", "check", "--")
      #expect(ofStore.contains("--data") && !ofStore.contains("--config"), "not those of check")
      #expect(try await offered("check", "--").contains("--config"))
      #expect(try await offered("import", "/etc/host").contains("/etc/hosts"))
      #expect(try await offered("upstreams", "pause", "/etc/h").isEmpty, "a name is no file")
    }

    @Test("shells and man(1) are given what they can read, as far as these are at hand")
    func syntax() async throws {
      let folder = try TemporaryFolder()
      for (words, reader) in [
        (["completions", "bash"], "bash -n"), (["completions", "zsh"], "zsh -n"),
        (["completions", "fish"], "fish -n"), (["man"], "mandoc -T lint -W error"),
      ] {
        let made = try ChildProcess(Waystation.path, words)
        #expect(try await made.ending() == .exit(0))
        let file = try folder.write("made", made.output)
        let check = "command -v \(reader.prefix { $0 != " " }) >/dev/null || exit 0; \(reader) $1"
        let process = try ChildProcess("/bin/sh", ["-c", check, "sh", file])
        #expect(try await process.ending() == .exit(0), "\(reader): \(process.errors)")
      }
    }
  }
}
