import CCurl
import RelayCore
import Testing

@testable import Forwarder

@Suite("What is said of a connection that a server ends")
struct ClientIdentityWordsTests {
  private func detail(
    _ code: CURLcode, _ words: String, hasBegun: Bool = false, showsIdentity: Bool = false,
    url: String = "https://a.example"
  ) throws -> String {
    TransferFailure.detail(
      code, words: words, hasBegun: hasBegun, showsIdentity: showsIdentity,
      target: try UpstreamTarget(name: "a", url: try UpstreamURL(url)), bytesMax: 300)
  }

  private let hint = "; perhaps it wants a client certificate"

  @Test("that libcurl asks whom it is connected to is said in plain words")
  func plain() throws {
    let words = "getpeername() failed with errno 107: Transport endpoint is not connected"
    let sentence = "a.example ended the connection in the middle"
    #expect(try detail(CURLE_SEND_ERROR, words, showsIdentity: true) == sentence)
    #expect(try detail(CURLE_SEND_ERROR, words) == sentence + hint)
  }

  @Test(
    "a server that ends it before it has answered may want a certificate that it was not shown",
    arguments: [
      (CURLE_RECV_ERROR, "Recv failure: Connection reset by peer"),
      (CURLE_SSL_CONNECT_ERROR, "error:0A000410:SSL routines::sslv3 alert handshake failure"),
      (CURLE_SSL_CONNECT_ERROR, "OpenSSL SSL_connect: SSL_ERROR_SYSCALL in connection to a:443"),
    ])
  func hint(code: CURLcode, words: String) throws {
    #expect(try detail(code, words).hasSuffix(hint))
    #expect(try !detail(code, words, showsIdentity: true).contains("perhaps"))
    #expect(try !detail(code, words, hasBegun: true).contains("perhaps"))
    #expect(try !detail(code, words, url: "http://a.example").contains("perhaps"))
  }

  @Test("what has another reason is not said to want one")
  func others() throws {
    for (code, words) in [
      (CURLE_COULDNT_CONNECT, "Failed to connect"), (CURLE_OPERATION_TIMEDOUT, "timed out"),
      (CURLE_PEER_FAILED_VERIFICATION, "SSL certificate problem: self-signed certificate"),
      (CURLE_SSL_CONNECT_ERROR, "error:0A00010B:SSL routines::wrong version number"),
    ] {
      #expect(try !detail(code, words).contains("perhaps"), "\(words)")
    }
  }
}
