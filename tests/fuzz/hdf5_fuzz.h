// What sanitizers allow libhdf5, for targets whose reader calls it. One source of a program includes this.
#pragma once

// libhdf5 leaks some memory when it rejects a file. We cannot fix that.
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5"; }

// libhdf5 asks for any size that a file names. As without a sanitizer, malloc then returns NULL, and libhdf5 continues.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
