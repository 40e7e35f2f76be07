/// What the compilers of the tests make of every source.
extern "C" int answer() {
  return 42;
}
