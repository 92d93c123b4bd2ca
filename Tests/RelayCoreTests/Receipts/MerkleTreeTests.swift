import Cryptography
import RelayCore
import Testing

@Suite("The tree over a group of receipts")
struct MerkleTreeTests {
  private static let hash: ReceiptHash = { SHA256.digest(of: $0) }

  /// The entries and roots with which implementations of Certificate Transparency are tested.
  private static let entries = [
    "", "00", "10", "2021", "3031", "40414243", "5051525354555657",
    "606162636465666768696a6b6c6d6e6f",
  ]
  private static let roots = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
  ]

  private func tree(_ count: Int) throws -> MerkleTree {
    let leaves = try Self.entries.prefix(count).map {
      MerkleTree.leaf(of: try #require(Hexadecimal.decode(Array($0.utf8))), Self.hash)
    }
    return MerkleTree(leaves: leaves, Self.hash)
  }

  @Test("its root is that of RFC 9162", arguments: 1...8)
  func root(count: Int) throws {
    #expect(Hexadecimal.encode(try tree(count).root) == Self.roots[count - 1])
  }

  @Test("each leaf's path leads to the root, and no other path or place does", arguments: 1...33)
  func paths(count: Int) {
    let leaves = (0..<count).map { MerkleTree.leaf(of: [UInt8($0)], Self.hash) }
    let tree = MerkleTree(leaves: leaves, Self.hash)
    for index in 0..<count {
      let path = tree.path(ofLeaf: index)
      func root(_ leaf: [UInt8], _ index: Int, _ size: Int, _ path: [[UInt8]]) -> [UInt8]? {
        MerkleTree.root(from: leaf, index: index, size: size, path: path, Self.hash)
      }
      #expect(root(leaves[index], index, count, path) == tree.root)
      for other in 0..<count where other != index {
        #expect(root(leaves[other], index, count, path) != tree.root)
        #expect(root(leaves[index], other, count, path) != tree.root)
      }
      #expect(root(leaves[index], index, count, path + [tree.root]) != tree.root)
      if let last = path.last {
        #expect(root(leaves[index], index, count, path.dropLast()) != tree.root)
        #expect(root(leaves[index], index, count, path.dropLast() + [last.reversed()]) != tree.root)
      }
    }
    #expect(MerkleTree.root(from: leaves[0], index: count, size: count, path: [], Self.hash) == nil)
  }
}
