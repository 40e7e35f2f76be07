/// Reads Turtle and N-Triples by serd, a library that is opened at run time where it is installed.
#pragma once

#include "runtime/data/NTriples.h"

namespace hector {

enum class SerdFormat { Turtle, NTriples };

/// Whether the library can be opened.
bool haveSerd();

/// Hands the triples of a file to `take` in the spelling that `readNTriples` gives, but for blank nodes of Turtle that
/// have no name of their own: they get names.
Status readBySerd(const InputFile &file, SerdFormat format, const Watch &watch, ReadStats &stats,
                  const std::function<Status(std::span<const HashedText>)> &take);

}  // namespace hector
