// The exceptions of the module.
#include <exception>
#include <filesystem>
#include <string>

#include "engine/check.h"
#include "engine/io/hdf5_index.h"
#include "engine/io/printable.h"
#include "tools/python/bindings/bindings.h"

namespace sink::python {
namespace {

namespace nb = nanobind;

constexpr const char* kDoc =
    "What was wrong, what was expected and what to do, in one sentence.\n\n"
    "``code`` is the kind: 'failure' (a bug in Sinklab), 'usage', 'bad_input', 'corrupt_checkpoint', 'diverged',\n"
    "'device' or 'io'. The programs of Sinklab exit with a code of the same name.";

const char* name_of(Exit code) {
  switch (code) {
    case Exit::ok:
      break;
    case Exit::failure:
      return "failure";
    case Exit::usage:
      return "usage";
    case Exit::bad_input:
      return "bad_input";
    case Exit::corrupt_checkpoint:
      return "corrupt_checkpoint";
    case Exit::diverged:
      return "diverged";
    case Exit::out_of_memory:
      return "out_of_memory";
    case Exit::device:
      return "device";
    case Exit::io:
      return "io";
  }
  return "failure";
}

PyObject* error_class = nullptr;  // alive as long as the interpreter

// Texts of files can be in a message, so it is made printable, as in the programs.
void set_error(const char* text, Exit code) {
  const std::string message = printable(text);
  if (code == Exit::out_of_memory) {
    PyErr_SetString(PyExc_MemoryError, message.c_str());
    return;
  }
  nb::object error = nb::borrow(error_class)(nb::str(message.c_str(), message.size()));
  error.attr("code") = nb::str(name_of(code));
  PyErr_SetObject(error_class, error.ptr());
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) { set_error(error.what(), error.code); } catch (const Hdf5Failure& failure) {
    set_error(failure.what(), Exit::bad_input);
  } catch (const std::filesystem::filesystem_error& error) { set_error(error.what(), Exit::io); }
}

}  // namespace

void add_errors(nb::module_& module) {
  error_class = PyErr_NewExceptionWithDoc("sinklab.Error", kDoc, PyExc_ValueError, nullptr);
  if (!error_class) throw nb::python_error();
  nb::borrow(error_class).attr("code") = nb::str(name_of(Exit::usage));  // of those that the package raises
  module.attr("Error") = nb::borrow(error_class);
  nb::register_exception_translator(translate);
}

}  // namespace sink::python
