import Forwarder
import RelayCore
import Testing

@Suite("Signatures for AWS")
struct AWSSigningTests {
  /// The examples of "Signature Calculations for the Authorization Header" in the reference of S3's
  /// API: targets, further fields, and signatures.
  static let examples: [(String, [String: String], String)] = [
    (
      "/test.txt", ["range": "bytes=0-9"],
      "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
    ),
    ("/?lifecycle", [:], "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
    (
      "/?max-keys=2&prefix=J", [:],
      "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
    ),
    (
      "/?prefix=%4a&max-keys=2", [:],
      "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
    ),
  ]
  private static let noBody = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

  @Test("are those of the examples that AWS gives", arguments: examples)
  func published(target: String, fields: [String: String], signature: String) {
    let signing = AWSSigning(
      region: "us-east-1", service: "s3", accessKey: "AKIAIOSFODNN7EXAMPLE",
      secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
    let request = AWSSigning.Request(
      method: "GET", host: "examplebucket.s3.amazonaws.com", target: Array(target.utf8),
      fields: fields.map { (Array($0.key.utf8), Array($0.value.utf8)) }, bodyDigest: Self.noBody)
    // 2013-05-24T00:00:00Z.
    let signed = signing.sign(request, at: WallTime(millisecondsSinceEpoch: 1_369_353_600_000))
    #expect(signed.date == "20130524T000000Z")
    let names = fields.isEmpty ? "" : "range;"
    #expect(
      signed.authorization == "AWS4-HMAC-SHA256 "
        + "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
        + "SignedHeaders=host;\(names)x-amz-content-sha256;x-amz-date, Signature=\(signature)")
  }

  @Test("sign a value's bytes as they are sent, also where they are no UTF-8")
  func bytes() {
    let signing = AWSSigning(
      region: "us-east-1", service: "execute-api", accessKey: "A", secretKey: "S")
    let signatures = [[0xE9], [0xE8], [0xEF, 0xBF, 0xBD]].map { (value: [UInt8]) in
      let request = AWSSigning.Request(
        method: "GET", host: "a.example", target: Array("/".utf8),
        fields: [(Array("x-amz-meta-a".utf8), value)], bodyDigest: Self.noBody)
      return signing.sign(request, at: WallTime(millisecondsSinceEpoch: 1_369_353_600_000))
        .authorization
    }
    #expect(Set(signatures).count == 3)
  }
}
