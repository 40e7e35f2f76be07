/// How functions are compiled.
#pragma once

#include "kernels/common/target.hpp"

/// A function that the executor finds by its name.
#define HECTOR_KERNEL extern "C" [[gnu::visibility("default")]]

/// Once per file, however many calls with constants there are.
#ifdef __clang__
#define HECTOR_SHARED [[gnu::noinline]]
#else
#define HECTOR_SHARED [[gnu::noinline, gnu::noclone]]
#endif
