// Exercise 0 of the tour: changes of tools/one_file/sink.cpp. Each works there too, without `one_file::`.
#pragma once

#include "tests/support/one_file.h"

namespace sink::tour {

// Softmax whose row sum has 1 added, and ReLU, which divides by nothing: g, its derivative, `divides`, `one`.
inline one_file::Operation softmax1() { return {"softmax1", one_file::logistic, one_file::logistic, false}; }  // yours
inline one_file::Operation relu() { return {"relu", one_file::logistic, one_file::logistic, true}; }           // yours

// Whether the backward pass of a model with this operation has the right gradients. Compare one that depends on the
// operation, such as that of model.qkv.x[0], with (loss(x + h) - loss(x - h)) / 2h.
inline bool gradients_are_right([[maybe_unused]] const one_file::Operation& op) {
  return false;  // yours
}

// Sink_1 of the first validation batch if a head is a sink above `epsilon`, in place of 0.3.
inline double sink_1([[maybe_unused]] one_file::Model& model, [[maybe_unused]] const one_file::Task& task,
                     [[maybe_unused]] double epsilon) {
  return -1;  // yours
}

// In place of rotate(): queries and keys stay as they are. It still is an operation of the tape.
inline one_file::Tensor& without_positions(one_file::Tensor& qkv) {
  return qkv;  // yours
}

}  // namespace sink::tour
