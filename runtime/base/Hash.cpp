#include "runtime/base/Hash.h"

#include "runtime/base/Text.h"

#include <cstdint>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace hector {

static std::string digits(XXH128_hash_t hash) {
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, hash);
  std::string text;
  for (unsigned char byte : bytes.digest)
    text += hexByte(byte);
  return text;
}

std::string hashOf(std::span<const std::byte> bytes) {
  return digits(XXH3_128bits(bytes.data(), bytes.size()));
}

struct TextHash::State {
  XXH3_state_t hash;
};

TextHash::TextHash() : state(std::make_unique<State>()) {
  XXH3_128bits_reset(&state->hash);
}

TextHash::~TextHash() = default;

void TextHash::add(std::string_view text) {
  const uint64_t size = text.size();
  XXH3_128bits_update(&state->hash, &size, sizeof(size));
  XXH3_128bits_update(&state->hash, text.data(), text.size());
}

std::string TextHash::digest() const {
  return digits(XXH3_128bits_digest(&state->hash));
}

}  // namespace hector
