// The examples of the tour's chapters: each prints numbers that its page works out by hand.
#pragma once

namespace sink::tour {

void tensor_chapter();    // 1
void tape_chapter();      // 2
void rms_norm_chapter();  // 3
void row_chapter();       // 4
void adamw_chapter();     // 6
void sink_chapter();      // 7
void online_chapter();    // 8
void policy_chapter();    // 9

}  // namespace sink::tour
