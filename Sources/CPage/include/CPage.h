// The operators' page: its files as they lie in Sources/CPage/files, within the binary.
//
// They are embedded by the C compiler (C23, `#embed`): Swift would spend half a minute on a literal
// of as many bytes, and a bundle beside the binary could get lost.
#ifndef CPAGE_H
#define CPAGE_H

#include <stddef.h>

/// One file of the page.
struct page_file {
  /// Its name, as it stands in its path.
  const char *name;
  /// Its media type.
  const char *type;
  /// What it holds; never freed.
  const unsigned char *bytes;
  /// How many bytes that is.
  size_t byte_count;
};

/// A file by its number, from 0; the first is the page itself. NULL past the last.
const struct page_file *page_file(size_t number);

#endif
