// sinklab._processor, which the package imports first: an ImportError on a processor that lacks what the engine was
// built for, where loading sinklab._core would end the interpreter. Compiled for any x86-64
// (tools/python/python.cmake).
#include <Python.h>

#include "engine/io/processor.h"

PyMODINIT_FUNC PyInit__processor() {
  if (const char* missing = sink::missing_extension()) {
    PyErr_Format(
        PyExc_ImportError,
        "this sinklab was built for a processor with %s, which this one does not have; build it here: pip install "
        "the folder of its sources",
        missing);
    return nullptr;
  }
  static PyModuleDef module{
      PyModuleDef_HEAD_INIT, "sinklab._processor", nullptr, 0, nullptr, nullptr, nullptr, nullptr, nullptr};
  return PyModule_Create(&module);
}
